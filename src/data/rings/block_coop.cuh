// The threads of a CUDA block as a Coop.
#pragma once

#include <cstdint>

#include "data/rings/coop.hpp"

namespace crossdock::rings {

// For blocks of one dimension, and one group per block at a time: sums have a word of shared memory for each warp.
struct BlockCoop {
  __device__ uint32_t rank() const { return threadIdx.x; }
  __device__ uint32_t size() const { return blockDim.x; }
  __device__ void sync() const { __syncthreads(); }

  // Within warps without memory, and among them by words that each thread adds up itself: two barriers.
  __device__ uint64_t sum(uint64_t value) const {
    __shared__ unsigned long long of_warp[kWarpsMax];
    const uint32_t warps = (size() + kLanes - 1) / kLanes;
    const uint32_t warp = rank() / kLanes;
    const uint32_t lanes = warp + 1 < warps ? kLanes : size() - warp * kLanes;
    unsigned long long total = value;
    for (uint32_t step = kLanes / 2; step != 0; step /= 2) {
      const unsigned long long other =
          __shfl_down_sync(0xFFFFFFFFU >> (kLanes - lanes), total, step);
      if (rank() % kLanes + step < lanes) total += other;
    }
    if (rank() % kLanes == 0) of_warp[warp] = total;
    __syncthreads();
    total = 0;
    for (uint32_t at = 0; at < warps; ++at) total += of_warp[at];
    __syncthreads();  // no thread puts the next sum in before all have read this one
    return total;
  }

  __device__ uint64_t from_leader(uint64_t value) const {
    __shared__ unsigned long long word;
    if (rank() == 0) word = value;
    __syncthreads();
    const uint64_t result = word;
    __syncthreads();
    return result;
  }

 private:
  static constexpr uint32_t kLanes = 32;
  static constexpr uint32_t kWarpsMax = 32;
};

}  // namespace crossdock::rings
