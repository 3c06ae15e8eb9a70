// The only producer of a ring whose segments come by number, in any order and perhaps twice: a mover that mirrors the
// flow of another process over several links. Segment number n goes into slot n mod slots, so its number says where it
// goes, whether the place is free, and whether it has come before. Tail and segment words are not used; the consumer is
// that of every ring, and takes segments in the order of their numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/rings/annotations.hpp"
#include "data/rings/ring.hpp"
#include "data/rings/ring_traits.hpp"

namespace crossdock::rings {

// One thread. All it remembers is a count: what has come is read from the ready words, which no other thread writes.
// Numbers may be anything that a wire delivers.
template <class Traits>
class SequenceWindow {
 public:
  CD_HOST_DEVICE explicit SequenceWindow(const Ring& ring) : ring_(ring) {}

  // Where segment n goes, the same place until it is published; or null, if it has come before (has), or if its slot is
  // not free yet: then no credit was given for n.
  CD_HOST_DEVICE std::byte* place(uint64_t n) {
    if (has(n)) return nullptr;
    if (n >= head_seen_ + ring_.slots()) {
      head_seen_ = HandOver(*ring_.head).load(typename Orders::ReadHead{});
      if (n >= head_seen_ + ring_.slots()) return nullptr;
    }
    return ring_.segment(ring_.slot_of(n));
  }

  // Segment n is in the place that place() answers for it, header included, and may be read.
  CD_HOST_DEVICE void publish(uint64_t n) {
    Traits::require(place(n) != nullptr);
    HandOver(ring_.ready_word(ring_.slot_of(n)))
        .store(Word::generation_at(n, ring_.shape.slot_bits), typename Orders::Publish{});
    // Ends: in a full window at the slot of the oldest segment, which shows the lap before.
    while (has(contiguous_)) ++contiguous_;
  }

  CD_HOST_DEVICE bool has(uint64_t n) const {
    if (n < contiguous_) return true;
    // A slot whose next number is n shows the lap of n or the one before, which one bit tells apart; the consumer, who
    // takes in order, cannot have given away anything beyond contiguous_.
    return n < contiguous_ + ring_.slots() &&
           HandOver(ring_.ready_word(ring_.slot_of(n))).load(Relaxed{}) ==
               Word::generation_at(n, ring_.shape.slot_bits);
  }

  // All segments below this number have been published.
  CD_HOST_DEVICE uint64_t contiguous() const { return contiguous_; }

 private:
  using Word = typename Traits::Word;
  using Orders = typename Traits::Orders;
  using HandOver = typename Traits::template Atomic<uint64_t, Traits::kHandOver>;

  Ring ring_;
  uint64_t contiguous_ = 0;
  uint64_t head_seen_ = 0;  // never ahead of the head, so what is free stays free
};

}  // namespace crossdock::rings
