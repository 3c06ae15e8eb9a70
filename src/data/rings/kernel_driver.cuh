// A kernel plays the actors: each block steps its own until it is done. For persistent kernels, which the host cannot
// interrupt, so every block looks at an abort flag and at a clock while it has nothing to do.
//
// A device actor has `template <Coop C> Step step(const C&)`, called by all threads of a block, with one answer for
// all.
#pragma once

#include <cstdint>

#include "data/rings/actor.hpp"
#include "data/rings/atomic_cuda.cuh"
#include "data/rings/coop.hpp"

namespace crossdock::rings {

struct KernelDriveLimits {
  uint32_t* abort = nullptr;        // in memory that the host writes; not 0: stop
  uint32_t idle_rounds = 1024;      // between two looks at the flag and the clock
  uint64_t stuck_after_clocks = 0;  // of the multiprocessor, without progress of this block
};

enum class KernelEnd : uint32_t { kDone, kAborted, kStuck };

template <class DeviceActor, Coop C>
__device__ KernelEnd drive_block(DeviceActor& actor,
                                 const KernelDriveLimits& limits,
                                 const C& coop) {
  using HostFlag = CudaAtomic<uint32_t, Scope::kSystem>;
  long long since = clock64();
  for (uint64_t idle = 0;;) {
    const Step answer = actor.step(coop);
    if (answer == Step::kDone) return KernelEnd::kDone;
    if (answer == Step::kProgress) {
      idle = 0;
      since = clock64();
      continue;
    }
    if (++idle % limits.idle_rounds != 0) continue;
    // The leader looks for all: threads that read the flag or a clock themselves could part ways.
    uint64_t end = 0;
    if (coop.rank() == 0) {
      const bool stuck = static_cast<uint64_t>(clock64() - since) > limits.stuck_after_clocks;
      if (stuck) end = static_cast<uint64_t>(KernelEnd::kStuck);
      if (HostFlag(*limits.abort).load(Relaxed{}) != 0)
        end = static_cast<uint64_t>(KernelEnd::kAborted);
    }
    end = from_leader(coop, end);
    if (end != 0) return static_cast<KernelEnd>(end);
  }
}

}  // namespace crossdock::rings
