// Rings of CPU threads. A file of its own, since nvcc cannot read the checks of CPU code.
#pragma once

#include "base/check.hpp"
#include "data/rings/atomic.hpp"
#include "data/rings/ring_traits.hpp"

namespace crossdock::rings {

struct CpuMemory {
  template <class T, Scope kScope>
  using Atomic = StdAtomic<T, kScope>;

  // Accesses to bytes that the protocol makes private to one side at a time; a test memory watches them.
  template <class T>
  static void write(T& place, T value) {
    place = value;
  }
  template <class T>
  static T read(const T& place) {
    return place;
  }
  static void require(bool holds) { CD_CHECK(holds, "a caller broke the contract of a ring"); }
};

struct CpuRingTraits : RingDefaults, CpuMemory {};

}  // namespace crossdock::rings
