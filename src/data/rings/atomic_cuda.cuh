// Atomic<T, Scope> and the traits of rings for CUDA sources: instructions of the device in kernels (device_atomic.cuh),
// and in the host code of a .cu file what every other host code has.
#pragma once

#include <cstdint>
#include <cstdlib>

#include <nv/target>

#include "data/rings/annotations.hpp"
#include "data/rings/atomic.hpp"
#include "data/rings/device_atomic.cuh"
#include "data/rings/ring_traits.hpp"

namespace crossdock::rings {

// The same interface as StdAtomic, with the scope meant as it is written. A word of more than a block lies in global
// memory, or in the host's that is mapped there.
template <class T, Scope kScope>
class CudaAtomic {
 public:
  CD_HOST_DEVICE explicit CudaAtomic(T& word) : place_(&word) {}

  template <Order kOrder>
  CD_HOST_DEVICE T load(OrderTag<kOrder> order) const {
    NV_IF_ELSE_TARGET(
        NV_IS_DEVICE, (return load_word<kOrder, kScope>(place_);), (return on_host().load(order);))
  }
  template <Order kOrder>
  CD_HOST_DEVICE void store(T value, OrderTag<kOrder> order) const {
    NV_IF_ELSE_TARGET(NV_IS_DEVICE,
                      (store_word<kOrder, kScope>(place_, value);),
                      (on_host().store(value, order);))
  }
  template <Order kOrder>
  CD_HOST_DEVICE T exchange(T value, OrderTag<kOrder> order) const {
    NV_IF_ELSE_TARGET(NV_IS_DEVICE,
                      (return exchange_word<kOrder, kScope>(place_, value);),
                      (return on_host().exchange(value, order);))
  }
  template <Order kOrder>
  CD_HOST_DEVICE T fetch_add(T value, OrderTag<kOrder> order) const {
    NV_IF_ELSE_TARGET(NV_IS_DEVICE,
                      (return add_to_word<kOrder, kScope>(place_, value);),
                      (return on_host().fetch_add(value, order);))
  }
  template <Order kOrder>
  CD_HOST_DEVICE T fetch_or(T value, OrderTag<kOrder> order) const {
    NV_IF_ELSE_TARGET(NV_IS_DEVICE,
                      (return or_into_word<kOrder, kScope>(place_, value);),
                      (return on_host().fetch_or(value, order);))
  }
  template <Order kOrder>
  CD_HOST_DEVICE bool compare_exchange(T& expected, T desired, OrderTag<kOrder> order) const {
    NV_IF_ELSE_TARGET(NV_IS_DEVICE,
                      (const T compared = expected;
                       expected = compare_exchange_word<kOrder, kScope>(place_, compared, desired);
                       return expected == compared;),
                      (return on_host().compare_exchange(expected, desired, order);))
  }

 private:
  StdAtomic<T, kScope> on_host() const { return StdAtomic<T, kScope>(*place_); }

  T* place_;
};

// What a broken contract does inside a kernel: the launch ends with an error that the host sees.
struct CudaMemory {
  template <class T, Scope kScope>
  using Atomic = CudaAtomic<T, kScope>;

  template <class T>
  CD_HOST_DEVICE static void write(T& place, T value) {
    place = value;
  }
  template <class T>
  CD_HOST_DEVICE static T read(const T& place) {
    return place;
  }
  // Two words of global memory, 16 bytes aligned: {free, 0} becomes {key, value}. Answers the key that was there.
  __device__ static uint64_t put_pair(uint64_t* pair, uint64_t free, uint64_t key, uint64_t value) {
    NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90,
                      (return put_wide_pair(pair, free, key, value);),
                      (return put_pair_in_turn(pair, free, key, value);))
  }
  // Adds to a word of a block, as two operations of 32 bits: shared memory has none of 64, which would be a loop of
  // compare-exchanges. Right once all have added. Answers whether the sum has gone beyond the word.
  __device__ static bool add_in_block(uint64_t* word, uint64_t value) {
    auto* const halves = reinterpret_cast<unsigned*>(word);
    const auto low = static_cast<unsigned>(value);
    const auto high = static_cast<unsigned>(value >> 32);
    const bool carries = low != 0 && atomicAdd_block(halves, low) + low < low;
    const unsigned more = high + (carries ? 1 : 0);
    if (more == 0) return carries && high != 0;  // nothing, or all ones and the carry: it goes on
    return atomicAdd_block(halves + 1, more) + more < more;
  }
  CD_HOST_DEVICE static void require(bool holds) {
    if (!holds) NV_IF_ELSE_TARGET(NV_IS_DEVICE, (__trap();), (std::abort();))
  }
};

// A ring inside one GPU whose producers are all blocks of it; the other end may be a mover on the host.
struct CudaRingTraits : RingDefaults, CudaMemory {};

// A stage ring: its producers are the threads of one block.
struct CudaStageRingTraits : CudaRingTraits {
  static constexpr Scope kProducers = Scope::kBlock;
};

}  // namespace crossdock::rings
