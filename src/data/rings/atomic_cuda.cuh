// Atomic<T, Scope> and the traits of rings for CUDA sources: cuda::atomic_ref, on the device and in the host code of a
// .cu file alike.
#pragma once

#include <cstdint>
#include <cstdlib>

#include <cuda/atomic>
#include <nv/target>

#include "data/rings/annotations.hpp"
#include "data/rings/atomic.hpp"
#include "data/rings/ring_traits.hpp"

namespace crossdock::rings {

CD_HOST_DEVICE constexpr cuda::thread_scope cuda_scope(Scope scope) {
  return scope == Scope::kBlock  ? cuda::thread_scope_block
       : scope == Scope::kDevice ? cuda::thread_scope_device
                                 : cuda::thread_scope_system;
}

CD_HOST_DEVICE constexpr cuda::std::memory_order cuda_order(Order order) {
  return order == Order::kAcquire        ? cuda::std::memory_order_acquire
       : order == Order::kRelease        ? cuda::std::memory_order_release
       : order == Order::kAcquireRelease ? cuda::std::memory_order_acq_rel
                                         : cuda::std::memory_order_relaxed;
}

// The same interface as StdAtomic, with the scope meant as it is written.
template <class T, Scope kScope>
class CudaAtomic {
 public:
  CD_HOST_DEVICE explicit CudaAtomic(T& word) : word_(word) {}

  template <Order kOrder>
  CD_HOST_DEVICE T load(OrderTag<kOrder>) const {
    constexpr auto order = cuda_order(kOrder);
    return word_.load(order);
  }
  template <Order kOrder>
  CD_HOST_DEVICE void store(T value, OrderTag<kOrder>) const {
    constexpr auto order = cuda_order(kOrder);
    word_.store(value, order);
  }
  template <Order kOrder>
  CD_HOST_DEVICE T exchange(T value, OrderTag<kOrder>) const {
    constexpr auto order = cuda_order(kOrder);
    return word_.exchange(value, order);
  }
  template <Order kOrder>
  CD_HOST_DEVICE T fetch_add(T value, OrderTag<kOrder>) const {
    constexpr auto order = cuda_order(kOrder);
    return word_.fetch_add(value, order);
  }
  template <Order kOrder>
  CD_HOST_DEVICE T fetch_or(T value, OrderTag<kOrder>) const {
    constexpr auto order = cuda_order(kOrder);
    return word_.fetch_or(value, order);
  }
  template <Order kOrder>
  CD_HOST_DEVICE bool compare_exchange(T& expected, T desired, OrderTag<kOrder>) const {
    constexpr auto order = cuda_order(kOrder);
    return word_.compare_exchange_strong(expected, desired, order, cuda::std::memory_order_relaxed);
  }

 private:
  cuda::atomic_ref<T, cuda_scope(kScope)> word_;
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
