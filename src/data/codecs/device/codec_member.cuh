// 128 neighbouring threads of a CUDA block as a Coop: they wait for each other and for no other threads of the block.
#pragma once

#include <cstdint>

#include "data/codecs/device/codec_team.hpp"

namespace crossdock::codecs {

struct WordEnds {
  uint64_t least;
  uint64_t most;
};

// For blocks of one dimension and of whole members.
class CodecMember {
 public:
  __device__ uint32_t number() const { return threadIdx.x / kCodecThreadsMax; }
  __device__ uint32_t rank() const { return threadIdx.x % kCodecThreadsMax; }
  __device__ uint32_t size() const { return kCodecThreadsMax; }

  // Barrier 0 is that of the block.
  __device__ void sync() const {
    asm volatile("barrier.sync %0, %1;" ::"r"(1 + number()), "r"(kCodecThreadsMax) : "memory");
  }

  __device__ uint64_t sum(uint64_t value) const { return sum_before(value).total; }

  __device__ SumBefore sum_before(uint64_t value) const {
    __shared__ unsigned long long of_warp[kTileBlocks][kWarps];
    unsigned long long sum = value;
    for (uint32_t step = 1; step < kLanes; step *= 2) {
      const unsigned long long lower = __shfl_up_sync(kAll, sum, step);
      if (lane() >= step) sum += lower;
    }
    if (lane() + 1 == kLanes) of_warp[number()][warp()] = sum;
    sync();
    SumBefore sums{sum - value, 0};
    for (uint32_t at = 0; at < kWarps; ++at) {
      const uint64_t other = of_warp[number()][at];
      if (at < warp()) sums.before += other;
      sums.total += other;
    }
    sync();  // no thread puts the next sum in before all have read this one
    return sums;
  }

  __device__ WordEnds range(int64_t least, int64_t most) const {
    __shared__ long long of_warp[kTileBlocks][kWarps][2];
    for (uint32_t step = kLanes / 2; step != 0; step /= 2) {
      least = min(least, int64_t{__shfl_xor_sync(kAll, static_cast<long long>(least), step)});
      most = max(most, int64_t{__shfl_xor_sync(kAll, static_cast<long long>(most), step)});
    }
    if (lane() == 0) {
      of_warp[number()][warp()][0] = least;
      of_warp[number()][warp()][1] = most;
    }
    sync();
    for (uint32_t at = 0; at < kWarps; ++at) {
      least = min(least, int64_t{of_warp[number()][at][0]});
      most = max(most, int64_t{of_warp[number()][at][1]});
    }
    sync();  // as in sum_before
    return {static_cast<uint64_t>(least), static_cast<uint64_t>(most)};
  }

 private:
  static constexpr uint32_t kLanes = 32;
  static constexpr uint32_t kWarps = kCodecThreadsMax / kLanes;
  static constexpr uint32_t kAll = 0xFFFFFFFFU;

  __device__ uint32_t lane() const { return threadIdx.x % kLanes; }
  __device__ uint32_t warp() const { return rank() / kLanes; }
};
static_assert(rings::Coop<CodecMember>);

// A block of kTileBlocks members.
class CodecBlock {
 public:
  using Member = CodecMember;
  static constexpr int kMembers = kTileBlocks;
  static constexpr uint32_t kThreads = kTileBlocks * kCodecThreadsMax;

  __device__ uint32_t member() const { return coop_.number(); }
  const __device__ CodecMember& coop() const { return coop_; }
  __device__ void sync() const { __syncthreads(); }

 private:
  CodecMember coop_;
};
static_assert(CodecTeam<CodecBlock>);

}  // namespace crossdock::codecs
