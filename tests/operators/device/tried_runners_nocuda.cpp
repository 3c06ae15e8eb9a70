// A thread alone, blocks at once, and warps of several lanes.
//
// A process with CROSSDOCK_REQUIRE_ALL_LAUNCHED, as CTest's operators_device.launches has it, fails where its
// tests have left out a kernel or a primitive: then a GPU, which runs the same suites, would not have run it either.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators/device/host_runner.hpp"
#include "operators/device/launch_log.hpp"
#include "operators/device/tried_runners.hpp"

namespace crossdock::operators {
namespace {

constexpr uint64_t kShareOfGroups = 8;

class LaunchCheck : public ::testing::Environment {
 public:
  void TearDown() override {
    if (std::getenv("CROSSDOCK_REQUIRE_ALL_LAUNCHED") == nullptr) return;
    EXPECT_THAT(LoggedRunner::launched(), ::testing::ContainerEq(names_of_all_work()));
  }
};

[[maybe_unused]] const auto* const kLaunchCheck =
    ::testing::AddGlobalTestEnvironment(new LaunchCheck);

TriedRunner threads_of(std::string name, const HostRunnerShape& shape) {
  return {
      .name = std::move(name),
      .make =
          [shape] { return std::make_unique<LoggedRunner>(std::make_unique<HostRunner>(shape)); },
      .share = shape.threads > 1 ? kShareOfGroups : 1};
}

}  // namespace

std::vector<TriedRunner> tried_runners() {
  return {threads_of("a_thread", {}),
          threads_of("blocks_at_once", {.blocks = 5, .at_once = 3}),
          threads_of("warps", {.blocks = 2, .threads = 4, .lanes = 2})};
}

}  // namespace crossdock::operators
