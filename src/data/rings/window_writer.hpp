// The only producer of a ring: whoever fills a receive window over a link (one window per source, path and virtual
// channel). It writes whole segments, so tail and segment words are not used: claim a slot, put the segment there by
// whatever means, publish it. The consumer is that of every ring.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/rings/annotations.hpp"
#include "data/rings/ring.hpp"
#include "data/rings/ring_traits.hpp"

namespace crossdock {

// One thread. Puts may complete in any order, and are published in the order of their claims.
template <class Traits>
class WindowWriter {
 public:
  CD_HOST_DEVICE explicit WindowWriter(const Ring& ring) : ring_(ring) {}

  // Where the next segment goes, or null when the window is full.
  CD_HOST_DEVICE std::byte* claim() {
    if (claimed_ - head_seen_ >= ring_.slots()) {
      head_seen_ = HandOver(*ring_.head).load(typename Orders::ReadHead{});
      if (claimed_ - head_seen_ >= ring_.slots()) return nullptr;
    }
    return ring_.segment(ring_.slot_of(claimed_++));
  }

  // The oldest claimed segment is complete, header included.
  CD_HOST_DEVICE void publish() {
    Traits::require(published_ < claimed_);
    const uint64_t generation = Word::generation_at(published_, ring_.shape.slot_bits);
    HandOver(ring_.ready_word(ring_.slot_of(published_)))
        .store(generation, typename Orders::Publish{});
    ++published_;
  }

  // Slots that a claim would get without a look at the head, and segments that are claimed and not published.
  CD_HOST_DEVICE uint64_t free_seen() const { return ring_.slots() - (claimed_ - head_seen_); }
  CD_HOST_DEVICE uint64_t outstanding() const { return claimed_ - published_; }

 private:
  using Word = typename Traits::Word;
  using Orders = typename Traits::Orders;
  using HandOver = typename Traits::template Atomic<uint64_t, Traits::kHandOver>;

  Ring ring_;
  uint64_t claimed_ = 0;
  uint64_t published_ = 0;
  uint64_t head_seen_ = 0;
};

}  // namespace crossdock
