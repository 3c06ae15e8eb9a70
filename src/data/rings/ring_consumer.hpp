// The consumer's side of a ring: the oldest published segments, in order, and their return.
//
// One group consumes at a time. A ring with one consumer for life (a mover, a window's receiver) needs no lock; where
// several may step in (waiting producers that help, sorters that take turns), each holds the ring's lock while it looks
// and recycles, and goes on to something else if it cannot have it. The consumer writes the head and the lock, and no
// word of the producers'.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/rings/annotations.hpp"
#include "data/rings/coop.hpp"
#include "data/rings/ring.hpp"
#include "data/rings/ring_traits.hpp"

namespace crossdock::rings {

template <class Traits>
class RingConsumer {
 public:
  CD_HOST_DEVICE explicit RingConsumer(const Ring& ring) : ring_(ring) {}

  // Whether the group is the consumer now, until unlock(). Never waits.
  template <Coop C = SoloCoop>
  CD_HOST_DEVICE bool try_lock(const C& coop = C()) {
    uint64_t locked = 0;
    if (coop.rank() == 0) {
      // Looked at before it is exchanged, so that those who wait do not take the line from each other.
      locked = Turns(*ring_.lock).load(Relaxed{}) == 0 &&
               Turns(*ring_.lock).exchange(1, typename Orders::Lock{}) == 0;
    }
    return from_leader(coop, locked) != 0;
  }

  template <Coop C = SoloCoop>
  CD_HOST_DEVICE void unlock(const C& coop = C()) {
    coop.sync();
    if (coop.rank() == 0) Turns(*ring_.lock).store(0, typename Orders::Unlock{});
  }

  // The published segment `ahead` places behind the oldest one, or null if it is not published yet. With ahead > 0 a
  // mover keeps several transfers under way. The segment is the consumer's until it is recycled.
  template <Coop C = SoloCoop>
  CD_HOST_DEVICE std::byte* front(uint64_t ahead = 0, const C& coop = C()) {
    uint64_t number = 0;
    if (coop.rank() == 0) number = find(ahead);
    number = from_leader(coop, number);
    return number == 0 ? nullptr : ring_.segment(number - 1);
  }

  // Gives the oldest `count` segments back, each of which front() has answered. What the group read of them it has
  // read.
  template <Coop C = SoloCoop>
  CD_HOST_DEVICE void recycle(uint64_t count = 1, const C& coop = C()) {
    coop.sync();
    if (coop.rank() != 0) return;
    const uint64_t head = HandOver(*ring_.head).load(Relaxed{});
    HandOver(*ring_.head).store(head + count, typename Orders::Recycle{});
    if (ring_.head_mirror != nullptr)
      HandOver(*ring_.head_mirror).store(head + count, typename Orders::Recycle{});
  }

 private:
  using Word = typename Traits::Word;
  using Orders = typename Traits::Orders;
  using HandOver = typename Traits::template Atomic<uint64_t, Traits::kHandOver>;
  using Turns = typename Traits::template Atomic<uint64_t, Traits::kConsumers>;

  // 1 + the slot, or 0.
  CD_HOST_DEVICE uint64_t find(uint64_t ahead) {
    if (ahead >= ring_.slots()) return 0;
    const uint64_t position = HandOver(*ring_.head).load(Relaxed{}) + ahead;
    const uint64_t slot = ring_.slot_of(position);
    const uint64_t ready = HandOver(ring_.ready_word(slot)).load(typename Orders::Poll{});
    if (ready != Word::generation_at(position, ring_.shape.slot_bits)) return 0;
    return slot + 1;
  }

  Ring ring_;
};

}  // namespace crossdock::rings
