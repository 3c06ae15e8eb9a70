// The clock of a GPU: nanoseconds, the same for all of its multiprocessors, so that a block that is moved to another
// one sees no leap. It may tick in steps of a microsecond.
#pragma once

#include <cstdint>

namespace crossdock::rings {

__device__ inline uint64_t device_nanoseconds() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// When nothing has moved for too long; of a limit of 0 never. By one thread.
class DevicePatience {
 public:
  __device__ explicit DevicePatience(uint64_t limit_ns) : limit_ns_(limit_ns) { restart(); }
  __device__ void restart() {
    if (limit_ns_ != 0) since_ = device_nanoseconds();
  }
  __device__ bool is_over() const {
    return limit_ns_ != 0 && device_nanoseconds() - since_ > limit_ns_;
  }

 private:
  uint64_t limit_ns_;
  uint64_t since_ = 0;
};

}  // namespace crossdock::rings
