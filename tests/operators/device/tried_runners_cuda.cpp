// GPU 0 as the runner of the suites of operators, which are those of CPU threads (tests/operators/device). What was
// launched is said at the end, for tools/gpu_report.py to say what was not.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "operators/device/cuda_runner.hpp"
#include "operators/device/launch_log.hpp"
#include "operators/device/tried_runners.hpp"

namespace crossdock::operators {
namespace {

class LaunchReport : public ::testing::Environment {
 public:
  void TearDown() override {
    fmt::print("{{\"schema_version\": 1, \"launched\": [\"{}\"], \"kernels\": [\"{}\"]}}\n",
               fmt::join(LoggedRunner::launched(), "\", \""),
               fmt::join(names_of_all_work(), "\", \""));
  }
};

[[maybe_unused]] const auto* const kLaunchReport =
    ::testing::AddGlobalTestEnvironment(new LaunchReport);

}  // namespace

std::vector<TriedRunner> tried_runners() {
  return {{.name = "gpu", .make = [] {
             return std::make_unique<LoggedRunner>(std::move(CudaRunner::open(0).value()));
           }}};
}

}  // namespace crossdock::operators
