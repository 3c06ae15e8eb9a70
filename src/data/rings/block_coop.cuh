// The threads of a CUDA block as a Coop.
#pragma once

#include <cstdint>

#include "data/rings/coop.hpp"

namespace crossdock::rings {

// For blocks of one dimension, and one group per block at a time: the sum has one word of shared memory.
struct BlockCoop {
  __device__ uint32_t rank() const { return threadIdx.x; }
  __device__ uint32_t size() const { return blockDim.x; }
  __device__ void sync() const { __syncthreads(); }

  __device__ uint64_t sum(uint64_t value) const {
    __shared__ unsigned long long total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    if (value != 0) atomicAdd_block(&total, static_cast<unsigned long long>(value));
    __syncthreads();
    const uint64_t result = total;
    __syncthreads();  // nobody clears the word for the next sum before all have read this one
    return result;
  }
};

}  // namespace crossdock::rings
