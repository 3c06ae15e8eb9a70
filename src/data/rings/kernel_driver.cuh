// A kernel plays the actors: each block steps its own until it is done. For persistent kernels, which the host cannot
// interrupt, so every block looks at an abort flag while it has nothing to do, and if it is to give up by itself at a
// clock.
//
// A device actor has `template <Coop C> Step step(const C&)`, called by all threads of a block, with one answer for
// all.
#pragma once

#include <cstdint>

#include "data/rings/actor.hpp"
#include "data/rings/atomic_cuda.cuh"
#include "data/rings/coop.hpp"
#include "data/rings/device_clock.cuh"
#include "data/rings/kernel_limits.hpp"

namespace crossdock::rings {

template <class DeviceActor, Coop C>
__device__ KernelEnd drive_block(DeviceActor& actor,
                                 const KernelDriveLimits& limits,
                                 const C& coop) {
  using HostFlag = CudaAtomic<uint32_t, Scope::kSystem>;
  DevicePatience patience(limits.stuck_after_ns);
  for (uint32_t idle = 0;;) {
    const Step answer = actor.step(coop);
    if (answer == Step::kDone) return KernelEnd::kDone;
    if (answer == Step::kProgress) {
      idle = 0;
      patience.restart();
      continue;
    }
    if (++idle < limits.idle_rounds) {
      __nanosleep(limits.nap_ns);
      continue;
    }
    idle = 0;
    // The leader looks for all: threads that read the flag or a clock themselves could part ways.
    uint64_t end = 0;
    if (coop.rank() == 0) {
      if (patience.is_over()) end = static_cast<uint64_t>(KernelEnd::kStuck);
      if (HostFlag(*limits.abort).load(Relaxed{}) != 0)
        end = static_cast<uint64_t>(KernelEnd::kAborted);
    }
    end = from_leader(coop, end);
    if (end != 0) return static_cast<KernelEnd>(end);
  }
}

}  // namespace crossdock::rings
