// A device that is a part of the host's memory, whose kernels run on CPU threads: the very code that nvcc compiles.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "operators/device/device_runner.hpp"

namespace crossdock::operators {

struct HostRunnerShape {
  uint32_t blocks = 1;   // of a grid
  uint32_t threads = 1;  // of a block; blocks of several threads run one after the other
  uint32_t lanes = 1;    // of a warp
  uint32_t at_once = 1;  // blocks of one thread that run at once
  uint64_t l2_bytes = 1 << 20;
};

class HostRunner : public DeviceRunner {
 public:
  explicit HostRunner(HostRunnerShape shape = {}) : shape_(shape) {}
  ~HostRunner() override;

  DeviceTraits traits() const override { return {shape_.blocks, shape_.l2_bytes}; }
  // Filled with what no operator expects, as memory that another operator has had.
  Result<std::byte*> allocate(uint64_t bytes) override;
  void release(std::byte* memory, uint64_t bytes) override;
  Status launch(const DeviceKernel& kernel, uint32_t blocks) override;
  Result<uint64_t> scratch_bytes(const DevicePrimitive&) override { return uint64_t{1}; }
  Status run(const DevicePrimitive& primitive, const DeviceScratch& scratch) override;
  Status read(void* to, const void* from, uint64_t bytes) override;
  Status write(void* to, const void* from, uint64_t bytes) override;

  uint64_t held_bytes() const { return held_bytes_; }
  uint64_t most_bytes() const { return most_bytes_; }
  uint64_t launches() const { return launches_; }  // of kernels
  uint64_t calls() const { return calls_; }        // of kernels and primitives

  uint64_t bytes_max = UINT64_MAX;
  uint64_t fails_at = UINT64_MAX;  // the number of a call

 private:
  Status count_call();

  HostRunnerShape shape_;
  uint64_t held_bytes_ = 0;
  uint64_t most_bytes_ = 0;
  uint64_t launches_ = 0;
  uint64_t calls_ = 0;
};

// Runs an operator with less and less memory, and with each of its calls failing: it answers the error and holds
// nothing afterwards. run(runner, bytes_max, fails_at) takes `bytes_max` bytes more than its inputs.
using BoundedRun = std::function<Status(HostRunner& runner, uint64_t bytes_max, uint64_t fails_at)>;
void expect_all_given_back(const BoundedRun& run);

}  // namespace crossdock::operators
