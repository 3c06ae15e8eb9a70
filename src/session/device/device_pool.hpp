// DevicePool: memory of a device, taken in few large pieces (slabs) and kept, so that no operator waits for the
// device's own allocator, which may stop all that runs there.
//
// Free stretches are found by size, the smallest that is large enough, and join their neighbours when they come back.
// Thread-safe; a call takes O(log n) of n stretches, but for a slab that has to be taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "session/device/device_driver.hpp"

namespace crossdock::session {

class DevicePool {
 public:
  // Slabs have at most limit_bytes together. The driver outlives the pool.
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
  // Slabs without a used piece go back to the device.
  void trim();

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t used_bytes() const;
  uint64_t held_bytes() const;  // of slabs

 private:
  struct Slab {
    std::byte* begin = nullptr;
    uint64_t bytes = 0;
  };
  struct Piece {
    uint64_t bytes = 0;
    bool is_shared = false;
  };

  std::byte* find_free(uint64_t bytes);
  Result<std::byte*> add_slab(uint64_t bytes);
  Status reclaim();
  void put_free(std::byte* memory, uint64_t bytes);
  void take_free(std::byte* memory, uint64_t bytes);

  DeviceDriver& driver_;
  const uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  std::map<std::byte*, Slab> slabs_;
  std::map<std::byte*, Piece> used_;
  std::map<std::byte*, uint64_t> free_;  // by place
  std::set<std::pair<uint64_t, std::byte*>> free_by_size_;
  std::vector<std::pair<std::byte*, uint64_t>>
      unsettled_;  // released, and others may still read it
  uint64_t used_bytes_ = 0;
  uint64_t held_bytes_ = 0;
};

}  // namespace crossdock::session
