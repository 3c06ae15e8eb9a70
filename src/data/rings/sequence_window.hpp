// The only producer of a ring whose segments arrive by number and in any order: a mover that mirrors a flow over
// several links. Segment n lies in slot n mod slots, so a number says where a segment goes and whether it came before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/rings/annotations.hpp"
#include "data/rings/ring.hpp"
#include "data/rings/ring_traits.hpp"

namespace crossdock {

// One thread; the consumer is that of every ring.
template <class Traits>
class SequenceWindow {
 public:
  CD_HOST_DEVICE explicit SequenceWindow(const Ring& ring) : ring_(ring) {}

  // Where segment n is to be written, or null: it was published before, or its slot is not free yet.
  CD_HOST_DEVICE std::byte* place(uint64_t n) {
    if (has(n)) return nullptr;
    if (n >= head_seen_ + ring_.slots()) {
      head_seen_ = HandOver(*ring_.head).load(typename Orders::ReadHead{});
      if (n >= head_seen_ + ring_.slots()) return nullptr;
    }
    return ring_.segment(ring_.slot_of(n));
  }

  // Segment n, which place() has answered, is complete, header included.
  CD_HOST_DEVICE void publish(uint64_t n) {
    Traits::require(!has(n));
    HandOver(ring_.ready_word(ring_.slot_of(n)))
        .store(Word::generation_at(n, ring_.shape.slot_bits), typename Orders::Publish{});
    while (has(contiguous_)) ++contiguous_;
  }

  // Whether segment n was published; n < the head + 2 * slots.
  CD_HOST_DEVICE bool has(uint64_t n) const {
    if (n < contiguous_) return true;
    // Slots below contiguous_ may hold any lap; those from there on hold the lap before until they are published.
    return n < contiguous_ + ring_.slots() &&
           HandOver(ring_.ready_word(ring_.slot_of(n))).load(Relaxed{}) ==
               Word::generation_at(n, ring_.shape.slot_bits);
  }

  // Segments 0 ... contiguous() - 1 were published.
  CD_HOST_DEVICE uint64_t contiguous() const { return contiguous_; }

 private:
  using Word = typename Traits::Word;
  using Orders = typename Traits::Orders;
  using HandOver = typename Traits::template Atomic<uint64_t, Traits::kHandOver>;

  Ring ring_;
  uint64_t contiguous_ = 0;
  uint64_t head_seen_ = 0;
};

}  // namespace crossdock
