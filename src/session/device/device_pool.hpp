// DevicePool: the budget of a device's memory, and what of it others may still read.
//
// Pieces come from the driver, which keeps what comes back for who asks next and waits for nothing
// (DeviceDriver::take), so nothing that is free is too short. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "session/device/device_driver.hpp"

namespace crossdock::session {

class DevicePool {
 public:
  // Pieces have at most limit_bytes together. The driver outlives the pool.
  DevicePool(DeviceDriver& driver, uint64_t limit_bytes);
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // Aligned to 256 bytes. CD-201 where the limit or the device ends.
  Result<std::byte*> allocate(uint64_t bytes);
  void release(std::byte* memory);
  // Other libraries read this piece: once released, it is used again only after the device has done all that it was
  // asked for.
  void share(std::byte* memory);
  // What nothing uses goes back to the device.
  void trim();

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t used_bytes() const;
  uint64_t held_bytes() const;  // used, or perhaps still read by others

 private:
  struct Piece {
    uint64_t bytes = 0;
    bool is_shared = false;
  };

  // Waits for the whole device, so only where there is no other memory.
  Status reclaim();

  DeviceDriver& driver_;
  const uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  std::unordered_map<std::byte*, Piece> used_;
  std::vector<std::byte*> unsettled_;  // released, and perhaps still read by others
  uint64_t used_bytes_ = 0;
  uint64_t unsettled_bytes_ = 0;
};

}  // namespace crossdock::session
