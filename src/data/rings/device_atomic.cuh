// Atomic operations of kernels by scope, on the memory that the scope says.
//
// A word whose scope is the device or the system lies in global memory, and the instruction says so: an operation on an
// address of any space is one that the thread waits for and then looks where it went, 8 instructions instead of one. A
// word of a block may also lie in shared memory; there the compiler sees which it is, or asks.
//
// A relaxed operation whose result is not used becomes a reduction, for which the thread does not wait.
#pragma once

#include <cstdint>
#include <type_traits>

#include "data/rings/atomic.hpp"

namespace crossdock::rings {

// What CUDA's functions take.
template <class T>
using AtomicWord = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

template <Scope kScope, class T>
__device__ AtomicWord<T>* atomic_place(T* at) {
  static_assert(std::is_unsigned_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  auto* const place = reinterpret_cast<AtomicWord<T>*>(at);
  if constexpr (kScope != Scope::kBlock) __builtin_assume(__isGlobal(place));
  return place;
}

// The parts of an instruction are strings that the compiler puts together, so they come from macros.
#define CD_PTX_BY_SCOPE(EMIT, ORDER)           \
  if constexpr (kScope == Scope::kBlock)       \
    EMIT(ORDER ".cta");                        \
  else if constexpr (kScope == Scope::kDevice) \
    EMIT(ORDER ".gpu.global");                 \
  else                                         \
    EMIT(ORDER ".sys.global")

#define CD_PTX_LOAD(HOW)                                                        \
  if constexpr (sizeof(T) == 8)                                                 \
    asm volatile("ld." HOW ".u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory"); \
  else                                                                          \
    asm volatile("ld." HOW ".u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory")

#define CD_PTX_STORE(HOW)                                                     \
  if constexpr (sizeof(T) == 8)                                               \
    asm volatile("st." HOW ".u64 [%0], %1;" ::"l"(at), "l"(word) : "memory"); \
  else                                                                        \
    asm volatile("st." HOW ".u32 [%0], %1;" ::"l"(at), "r"(word) : "memory")

#define CD_PTX_CHANGE(HOW, OP)                         \
  if constexpr (sizeof(T) == 8)                        \
    asm volatile("atom." HOW "." OP "64 %0, [%1], %2;" \
                 : "=l"(before)                        \
                 : "l"(at), "l"(word)                  \
                 : "memory");                          \
  else                                                 \
    asm volatile("atom." HOW "." OP "32 %0, [%1], %2;" \
                 : "=r"(before)                        \
                 : "l"(at), "r"(word)                  \
                 : "memory")
#define CD_PTX_EXCHANGE(HOW) CD_PTX_CHANGE(HOW, "exch.b")
#define CD_PTX_ADD(HOW) CD_PTX_CHANGE(HOW, "add.u")
#define CD_PTX_OR(HOW) CD_PTX_CHANGE(HOW, "or.b")

#define CD_PTX_COMPARE(HOW)                               \
  if constexpr (sizeof(T) == 8)                           \
    asm volatile("atom." HOW ".cas.b64 %0, [%1], %2, %3;" \
                 : "=l"(before)                           \
                 : "l"(at), "l"(expected), "l"(word)      \
                 : "memory");                             \
  else                                                    \
    asm volatile("atom." HOW ".cas.b32 %0, [%1], %2, %3;" \
                 : "=r"(before)                           \
                 : "l"(at), "r"(expected), "r"(word)      \
                 : "memory")

#define CD_PTX_BY_ORDER(EMIT)                       \
  if constexpr (kOrder == Order::kAcquire) {        \
    CD_PTX_BY_SCOPE(EMIT, "acquire");               \
  } else if constexpr (kOrder == Order::kRelease) { \
    CD_PTX_BY_SCOPE(EMIT, "release");               \
  } else {                                          \
    CD_PTX_BY_SCOPE(EMIT, "acq_rel");               \
  }

#define CD_BUILTIN_BY_SCOPE(NAME, ...)         \
  if constexpr (kScope == Scope::kBlock)       \
    return NAME##_block(__VA_ARGS__);          \
  else if constexpr (kScope == Scope::kDevice) \
    return NAME(__VA_ARGS__);                  \
  else                                         \
    return NAME##_system(__VA_ARGS__)

template <Order kOrder, Scope kScope, class T>
__device__ T load_word(T* place) {
  auto* const at = atomic_place<kScope>(place);
  AtomicWord<T> word;
  if constexpr (kOrder == Order::kAcquire) {
    CD_PTX_BY_SCOPE(CD_PTX_LOAD, "acquire");
  } else {
    CD_PTX_BY_SCOPE(CD_PTX_LOAD, "relaxed");
  }
  return static_cast<T>(word);
}

template <Order kOrder, Scope kScope, class T>
__device__ void store_word(T* place, T value) {
  auto* const at = atomic_place<kScope>(place);
  const AtomicWord<T> word = value;
  if constexpr (kOrder == Order::kRelease) {
    CD_PTX_BY_SCOPE(CD_PTX_STORE, "release");
  } else {
    CD_PTX_BY_SCOPE(CD_PTX_STORE, "relaxed");
  }
}

template <Order kOrder, Scope kScope, class T>
__device__ T exchange_word(T* place, T value) {
  auto* const at = atomic_place<kScope>(place);
  const AtomicWord<T> word = value;
  if constexpr (kOrder == Order::kRelaxed) {
    CD_BUILTIN_BY_SCOPE(atomicExch, at, word);
  } else {
    AtomicWord<T> before;
    CD_PTX_BY_ORDER(CD_PTX_EXCHANGE)
    return static_cast<T>(before);
  }
}

template <Order kOrder, Scope kScope, class T>
__device__ T add_to_word(T* place, T value) {
  auto* const at = atomic_place<kScope>(place);
  const AtomicWord<T> word = value;
  if constexpr (kOrder == Order::kRelaxed) {
    CD_BUILTIN_BY_SCOPE(atomicAdd, at, word);
  } else {
    AtomicWord<T> before;
    CD_PTX_BY_ORDER(CD_PTX_ADD)
    return static_cast<T>(before);
  }
}

template <Order kOrder, Scope kScope, class T>
__device__ T or_into_word(T* place, T value) {
  auto* const at = atomic_place<kScope>(place);
  const AtomicWord<T> word = value;
  if constexpr (kOrder == Order::kRelaxed) {
    CD_BUILTIN_BY_SCOPE(atomicOr, at, word);
  } else {
    AtomicWord<T> before;
    CD_PTX_BY_ORDER(CD_PTX_OR)
    return static_cast<T>(before);
  }
}

// What was there; `value` is there now if that is `wanted`.
template <Order kOrder, Scope kScope, class T>
__device__ T compare_exchange_word(T* place, T compared, T value) {
  auto* const at = atomic_place<kScope>(place);
  const AtomicWord<T> expected = compared;
  const AtomicWord<T> word = value;
  if constexpr (kOrder == Order::kRelaxed) {
    CD_BUILTIN_BY_SCOPE(atomicCAS, at, expected, word);
  } else {
    AtomicWord<T> before;
    CD_PTX_BY_ORDER(CD_PTX_COMPARE)
    return static_cast<T>(before);
  }
}

// Both words by one operation, on sm_90 and later. Answers the first word that was there.
__device__ inline uint64_t put_wide_pair(uint64_t* pair,
                                         uint64_t free,
                                         uint64_t key,
                                         uint64_t value) {
  uint64_t before;
  asm volatile(
      "{\n"
      "  .reg .b128 expected, wanted, found;\n"
      "  mov.b128 expected, {%2, %3};\n"
      "  mov.b128 wanted, {%4, %5};\n"
      "  atom.relaxed.gpu.global.cas.b128 found, [%1], expected, wanted;\n"
      "  mov.b128 {%0, _}, found;\n"
      "}"
      : "=l"(before)
      : "l"(__cvta_generic_to_global(pair)), "l"(free), "l"(uint64_t{0}), "l"(key), "l"(value)
      : "memory");
  return before;
}

// The same where the second word follows the first.
__device__ inline uint64_t put_pair_in_turn(uint64_t* pair,
                                            uint64_t free,
                                            uint64_t key,
                                            uint64_t value) {
  const uint64_t before = compare_exchange_word<Order::kRelaxed, Scope::kDevice>(pair, free, key);
  if (before == free) store_word<Order::kRelaxed, Scope::kDevice>(pair + 1, value);
  return before;
}

#undef CD_PTX_BY_SCOPE
#undef CD_PTX_LOAD
#undef CD_PTX_STORE
#undef CD_PTX_CHANGE
#undef CD_PTX_EXCHANGE
#undef CD_PTX_ADD
#undef CD_PTX_OR
#undef CD_PTX_COMPARE
#undef CD_PTX_BY_ORDER
#undef CD_BUILTIN_BY_SCOPE

}  // namespace crossdock::rings
