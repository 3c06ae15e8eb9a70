// Atomic<T, Scope>: how a word that several threads share is read and written.
//
// The words themselves are plain integers in whatever memory holds the ring; an Atomic is a short-lived view of one, so
// that g++ and nvcc work on the same bytes: here as std::atomic_ref, in kernels as cuda::atomic_ref (atomic_cuda.cuh).
// Every order stands on an access. There are no free-standing fences: the thread sanitizer does not understand them,
// and no access of the protocol needs one (docs/concept-rings.md).
//
// Orders are types, not values, so that they are constants wherever the call is inlined or not: compilers take an order
// that they cannot see for the strongest one, and a test of a weaker order would then test nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace crossdock::rings {

// Who takes part: the threads of one block, of one device, or anybody who reaches the memory. On a CPU all are the
// same. One word is always used with one scope.
enum class Scope : uint8_t { kBlock, kDevice, kSystem };

enum class Order : uint8_t { kRelaxed, kAcquire, kRelease, kAcquireRelease };

template <Order kOrder>
struct OrderTag {
  static constexpr Order value = kOrder;
};
using Relaxed = OrderTag<Order::kRelaxed>;
using Acquire = OrderTag<Order::kAcquire>;
using Release = OrderTag<Order::kRelease>;
using AcquireRelease = OrderTag<Order::kAcquireRelease>;

// The word at a place, for CPU threads. kScope says what a kernel would need; x86 and Arm cores are always coherent.
template <class T, Scope kScope>
class StdAtomic {
 public:
  explicit StdAtomic(T& word) : word_(word) {}

  template <Order kOrder>
  T load(OrderTag<kOrder>) const {
    return word_.load(standard(kOrder));
  }
  template <Order kOrder>
  void store(T value, OrderTag<kOrder>) const {
    word_.store(value, standard(kOrder));
  }
  template <Order kOrder>
  T exchange(T value, OrderTag<kOrder>) const {
    return word_.exchange(value, standard(kOrder));
  }
  template <Order kOrder>
  T fetch_add(T value, OrderTag<kOrder>) const {
    return word_.fetch_add(value, standard(kOrder));
  }
  template <Order kOrder>
  T fetch_or(T value, OrderTag<kOrder>) const {
    return word_.fetch_or(value, standard(kOrder));
  }
  // kOrder holds for success; a failure is a relaxed load, which `expected` receives.
  template <Order kOrder>
  bool compare_exchange(T& expected, T desired, OrderTag<kOrder>) const {
    return word_.compare_exchange_strong(
        expected, desired, standard(kOrder), std::memory_order_relaxed);
  }

 private:
  static constexpr std::memory_order standard(Order order) {
    switch (order) {
      case Order::kAcquire:
        return std::memory_order_acquire;
      case Order::kRelease:
        return std::memory_order_release;
      case Order::kAcquireRelease:
        return std::memory_order_acq_rel;
      default:
        return std::memory_order_relaxed;
    }
  }

  std::atomic_ref<T> word_;
};

}  // namespace crossdock::rings
