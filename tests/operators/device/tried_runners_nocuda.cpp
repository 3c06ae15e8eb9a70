// A thread alone, blocks at once, and warps of several lanes.
#include "operators/device/host_runner.hpp"
#include "operators/device/tried_runners.hpp"

namespace crossdock::operators {
namespace {

constexpr uint64_t kShareOfGroups = 8;

TriedRunner threads_of(std::string name, const HostRunnerShape& shape) {
  return {.name = std::move(name),
          .make = [shape] { return std::make_unique<HostRunner>(shape); },
          .share = shape.threads > 1 ? kShareOfGroups : 1};
}

}  // namespace

std::vector<TriedRunner> tried_runners() {
  return {threads_of("a_thread", {}),
          threads_of("blocks_at_once", {.blocks = 5, .at_once = 3}),
          threads_of("warps", {.blocks = 2, .threads = 4, .lanes = 2})};
}

}  // namespace crossdock::operators
