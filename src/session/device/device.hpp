// Device: a device that is open, with the pool of its memory; what tables on it and their operators run on.
//
// Kept alive by everything that lies on it. Operators on one device run one after the other: who holds a DeviceTurn.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.hpp"
#include "operators/device/device_runner.hpp"
#include "session/device/device_driver.hpp"
#include "session/device/device_pool.hpp"

namespace crossdock::session {

class Device final : public operators::DeviceRunner, public std::enable_shared_from_this<Device> {
 public:
  // limit_bytes of its memory at most; 0: four fifths of what is free now.
  Device(std::string name, std::unique_ptr<DeviceDriver> driver, uint64_t limit_bytes);
  ~Device() override;

  const std::string& name() const { return name_; }
  const DeviceFacts& facts() const { return facts_; }
  DeviceDriver& driver() { return *driver_; }
  DevicePool& pool() { return pool_; }
  // Memory that nothing uses goes back to the device, for others.
  void trim();

  operators::DeviceTraits traits() const override { return driver_->runner().traits(); }
  Result<std::byte*> allocate(uint64_t bytes) override { return pool_.allocate(bytes); }
  void release(std::byte* memory, uint64_t) override { pool_.release(memory); }
  Status launch(const operators::DeviceKernel& kernel, uint32_t blocks) override {
    return driver_->runner().launch(kernel, blocks);
  }
  Result<uint64_t> scratch_bytes(const operators::DevicePrimitive& primitive) override {
    return driver_->runner().scratch_bytes(primitive);
  }
  Status run(const operators::DevicePrimitive& primitive,
             const operators::DeviceScratch& scratch) override {
    return driver_->runner().run(primitive, scratch);
  }
  Status read(void* to, const void* from, uint64_t bytes) override {
    return driver_->runner().read(to, from, bytes);
  }
  Status write(void* to, const void* from, uint64_t bytes) override {
    return driver_->runner().write(to, from, bytes);
  }

 private:
  friend class DeviceTurn;

  const std::string name_;
  const std::unique_ptr<DeviceDriver> driver_;
  const DeviceFacts facts_;
  DevicePool pool_;
  std::mutex turn_;
};

// The calling thread's turn on a device.
class DeviceTurn {
 public:
  static Result<DeviceTurn> begin(Device& device) {
    DeviceTurn turn(device);
    CD_TRY(device.driver().enter());
    return Result<DeviceTurn>(std::move(turn));
  }

 private:
  explicit DeviceTurn(Device& device) : lock_(device.turn_) {}
  std::unique_lock<std::mutex> lock_;
};

using DevicePtr = std::shared_ptr<Device>;

// "gpu:0", or "threads" (thread_driver.hpp). CD-105 for another name, or where the plugin cuda cannot be loaded, with
// how to build it; CD-603 where there is no driver or no such GPU.
Result<DevicePtr> open_device(const std::string& name, uint64_t limit_bytes);

}  // namespace crossdock::session
