// The library's atomic references, which do not say what memory a word is in: what instructions by scope and memory
// change is measured beside them.
#pragma once

#include <cstdint>

#include <cuda/atomic>

#include "data/rings/atomic.hpp"

namespace crossdock::rings {

template <Scope kScope>
constexpr cuda::thread_scope kLibraryScope = kScope == Scope::kBlock  ? cuda::thread_scope_block
                                           : kScope == Scope::kDevice ? cuda::thread_scope_device
                                                                      : cuda::thread_scope_system;
template <Order kOrder>
constexpr cuda::memory_order kLibraryOrder =
    kOrder == Order::kAcquire          ? cuda::memory_order_acquire
    : kOrder == Order::kRelease        ? cuda::memory_order_release
    : kOrder == Order::kAcquireRelease ? cuda::memory_order_acq_rel
                                       : cuda::memory_order_relaxed;

template <Scope kScope, class T>
__device__ cuda::atomic_ref<T, kLibraryScope<kScope>> library_word(T* place) {
  return cuda::atomic_ref<T, kLibraryScope<kScope>>(*place);
}

template <Order kOrder, Scope kScope, class T>
__device__ T load_word(T* place) {
  return library_word<kScope>(place).load(kLibraryOrder<kOrder>);
}

template <Order kOrder, Scope kScope, class T>
__device__ void store_word(T* place, T value) {
  library_word<kScope>(place).store(value, kLibraryOrder<kOrder>);
}

template <Order kOrder, Scope kScope, class T>
__device__ T exchange_word(T* place, T value) {
  return library_word<kScope>(place).exchange(value, kLibraryOrder<kOrder>);
}

template <Order kOrder, Scope kScope, class T>
__device__ T add_to_word(T* place, T value) {
  return library_word<kScope>(place).fetch_add(value, kLibraryOrder<kOrder>);
}

template <Order kOrder, Scope kScope, class T>
__device__ T or_into_word(T* place, T value) {
  return library_word<kScope>(place).fetch_or(value, kLibraryOrder<kOrder>);
}

template <Order kOrder, Scope kScope, class T>
__device__ T compare_exchange_word(T* place, T expected, T value) {
  library_word<kScope>(place).compare_exchange_strong(
      expected, value, kLibraryOrder<kOrder>, cuda::memory_order_relaxed);
  return expected;
}

__device__ inline uint64_t put_pair_in_turn(uint64_t* pair,
                                            uint64_t free,
                                            uint64_t key,
                                            uint64_t value) {
  const uint64_t before = compare_exchange_word<Order::kRelaxed, Scope::kDevice>(pair, free, key);
  if (before == free) store_word<Order::kRelaxed, Scope::kDevice>(pair + 1, value);
  return before;
}

__device__ inline uint64_t put_wide_pair(uint64_t* pair,
                                         uint64_t free,
                                         uint64_t key,
                                         uint64_t value) {
  return put_pair_in_turn(pair, free, key, value);
}

}  // namespace crossdock::rings
