// Coop: a group of threads that call together, as one. A CPU worker is a group of one; on a GPU it is a thread block
// (block_coop.cuh).
//
// All threads of a group make the same calls in the same order with the same arguments, unless a declaration says
// otherwise. The leader is the thread of rank 0.
#pragma once

#include <concepts>
#include <cstdint>

#include "data/rings/annotations.hpp"

namespace crossdock::rings {

template <class C>
concept Coop = requires(const C& coop, uint64_t value) {
  { coop.rank() } -> std::convertible_to<uint32_t>;  // 0 … size() - 1
  { coop.size() } -> std::convertible_to<uint32_t>;
  coop.sync();  // all arrive, and what each wrote before is seen by all after
  { coop.sum(value) } -> std::convertible_to<uint64_t>;  // over the values of all, to all; syncs
};

struct SoloCoop {
  CD_HOST_DEVICE uint32_t rank() const { return 0; }
  CD_HOST_DEVICE uint32_t size() const { return 1; }
  CD_HOST_DEVICE void sync() const {}
  CD_HOST_DEVICE uint64_t sum(uint64_t value) const { return value; }
};
static_assert(Coop<SoloCoop>);

// What the leader passes, to all; what the others pass is ignored.
template <Coop C>
CD_HOST_DEVICE uint64_t from_leader(const C& coop, uint64_t value) {
  if constexpr (requires { coop.from_leader(value); }) {
    return coop.from_leader(value);  // of groups that know a shorter way
  } else {
    return coop.sum(coop.rank() == 0 ? value : 0);
  }
}

}  // namespace crossdock::rings
