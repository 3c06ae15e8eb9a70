// The threads of a CUDA block as a BlockGroup. For blocks of one dimension and whole warps.
#pragma once

#include <cstdint>

#include "data/rings/block_coop.cuh"
#include "operators/device/block_group.hpp"

namespace crossdock::operators {

struct CudaGroup : rings::BlockCoop {
  static constexpr uint32_t kLanes = 32;
  static constexpr uint32_t kAll = 0xFFFFFFFFU;

  __device__ uint32_t lane() const { return threadIdx.x % kLanes; }
  __device__ uint32_t lanes() const { return kLanes; }
  __device__ uint32_t warp() const { return threadIdx.x / kLanes; }
  __device__ uint32_t match(uint32_t value) const { return __match_any_sync(kAll, value); }
  __device__ uint32_t ones(uint32_t bits) const { return static_cast<uint32_t>(__popc(bits)); }
  __device__ void warp_sync() const { __syncwarp(); }

  __device__ uint64_t warp_prefix(uint64_t value) const {
    unsigned long long sum = value;
    for (uint32_t step = 1; step < kLanes; step *= 2) {
      const unsigned long long other = __shfl_up_sync(kAll, sum, step);
      if (lane() >= step) sum += other;
    }
    return sum - value;
  }
};

}  // namespace crossdock::operators
