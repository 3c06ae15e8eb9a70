// How long a block of a kernel that stays goes on (kernel_driver.cuh), and how it ended: plain values, which the host
// reads too.
#pragma once

#include <cstdint>

namespace crossdock::rings {

struct KernelDriveLimits {
  uint32_t* abort = nullptr;    // in memory that the host writes; not 0: stop
  uint32_t idle_rounds = 1024;  // between two looks at the flag and the clock
  uint32_t nap_ns = 500;        // after a round without work, which leaves memory to who works
  uint64_t stuck_after_ns = 0;  // without progress of this block; 0: stays until it is done
};

enum class KernelEnd : uint32_t { kDone, kAborted, kStuck };

}  // namespace crossdock::rings
