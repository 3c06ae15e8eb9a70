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

LaunchLog& launch_log() {
  static LaunchLog log;
  return log;
}

class LoggedRunner : public DeviceRunner {
 public:
  explicit LoggedRunner(std::unique_ptr<CudaRunner> inner) : inner_(std::move(inner)) {}

  DeviceTraits traits() const override { return inner_->traits(); }
  Result<std::byte*> allocate(uint64_t bytes) override { return inner_->allocate(bytes); }
  void release(std::byte* memory, uint64_t bytes) override { inner_->release(memory, bytes); }
  Status launch(const DeviceKernel& kernel, uint32_t blocks) override {
    launch_log().add(kernel);
    return inner_->launch(kernel, blocks);
  }
  Result<uint64_t> sort_scratch_bytes(uint64_t count) override {
    return inner_->sort_scratch_bytes(count);
  }
  Status sort(const DeviceSortWork& work) override { return inner_->sort(work); }
  Status read(void* to, const void* from, uint64_t bytes) override {
    return inner_->read(to, from, bytes);
  }
  Status write(void* to, const void* from, uint64_t bytes) override {
    return inner_->write(to, from, bytes);
  }

 private:
  const std::unique_ptr<CudaRunner> inner_;
};

class SaidAtTheEnd : public ::testing::Environment {
 public:
  void TearDown() override {
    fmt::print("{{\"schema_version\": 1, \"launched\": [\"{}\"], \"kernels\": [\"{}\"]}}\n",
               fmt::join(launch_log().names(true), "\", \""),
               fmt::join(names_of_kernels(static_cast<const DeviceKernel*>(nullptr)), "\", \""));
  }
};

[[maybe_unused]] const auto* const kAtTheEnd =
    ::testing::AddGlobalTestEnvironment(new SaidAtTheEnd);

}  // namespace

std::vector<TriedRunner> tried_runners() {
  return {{.name = "gpu", .make = [] {
             return std::make_unique<LoggedRunner>(std::move(CudaRunner::open(0).value()));
           }}};
}

}  // namespace crossdock::operators
