// A device of the host's memory that counts what is asked of it, and says it is CUDA's: so that the order of waits can
// be tested without one.
#pragma once

#include <memory>
#include <vector>

#include "session/device/thread_driver.hpp"

namespace crossdock::session {

struct DriverCounts {
  int taken = 0;
  int given = 0;
  int trims = 0;
  int waits_for_all = 0;
  int events = 0;  // open now
  std::vector<void*> waited_for;
  std::vector<uint64_t> streams;
};

class CountingDriver : public DeviceDriver {
 public:
  explicit CountingDriver(DriverCounts& counts) : counts_(counts) {}

  DeviceFacts facts() const override {
    return {.label = "counted",
            .place = MemoryPlace::kCuda,
            .id = 3,
            .free_bytes = 100 << 20,
            .stream = 99};
  }
  operators::DeviceRunner& runner() override { return inner_->runner(); }
  Status enter() override { return {}; }
  Result<std::byte*> take(uint64_t bytes) override {
    ++counts_.taken;
    return inner_->take(bytes);
  }
  void give(std::byte* memory) override {
    ++counts_.given;
    inner_->give(memory);
  }
  void trim() override { ++counts_.trims; }
  Status wait() override { return {}; }
  Status wait_all() override {
    ++counts_.waits_for_all;
    return {};
  }
  Status wait_event(void* event) override {
    counts_.waited_for.push_back(event);
    return {};
  }
  Result<void*> record_event() override {
    ++counts_.events;
    return static_cast<void*>(&counts_);
  }
  void release_event(void*) override { --counts_.events; }
  Status order_stream(uint64_t stream) override {
    counts_.streams.push_back(stream);
    return {};
  }

 private:
  DriverCounts& counts_;
  const std::unique_ptr<DeviceDriver> inner_ = open_thread_driver();
};

}  // namespace crossdock::session
