// Slots of two words are put in by two operations: what one of 16 bytes changes is measured beside them.
#pragma once

#define put_wide_pair put_wide_pair_at_once
#include_next "data/rings/device_atomic.cuh"
#undef put_wide_pair

namespace crossdock::rings {

__device__ inline uint64_t put_wide_pair(uint64_t* pair,
                                         uint64_t free,
                                         uint64_t key,
                                         uint64_t value) {
  return put_pair_in_turn(pair, free, key, value);
}

}  // namespace crossdock::rings
