// The producers' side of a ring: reserve rows, write them, commit; or seal what there is, for a flush.
//
// Any number of blocks of one device produce into one ring, each through a RingProducer of its own (it remembers a
// head). Nothing here waits: a full ring answers with a ticket of 0 rows, and a producer never holds a ticket that has
// no slot. Between reserve and commit there must be nothing that waits, since it would hold the whole segment.
//
// The protocol, its orders and the alternatives that fail are in docs/concept-rings.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/rings/annotations.hpp"
#include "data/rings/coop.hpp"
#include "data/rings/ring.hpp"
#include "data/rings/ring_traits.hpp"

namespace crossdock {

// Rows [first, first + rows) of a slot's segment, to be written and committed by who got them; 0 rows: not now.
struct Ticket {
  uint32_t slot = 0;
  uint32_t first = 0;
  uint32_t rows = 0;
};

enum class Seal : uint8_t {
  kNothing,  // no open segment has rows: nothing to send, and an empty one stays open for the next rows
  kClosed,     // closed; the last commit will publish it
  kPublished,  // closed and published
};

template <class Traits>
class RingProducer {
 public:
  CD_HOST_DEVICE explicit RingProducer(const Ring& ring) : ring_(ring) {}

  // Up to `rows` rows for the group, but at least `at_least`, else none; 1 <= at_least <= rows, at_least <= rows_max.
  // Where fewer than at_least are left, the segment leaves as it is and the next one is opened. An answer of 0 rows
  // means that the ring is full, or that others are at the very point of opening a segment: try again later.
  template <Coop C = SoloCoop>
  CD_HOST_DEVICE Ticket reserve(uint32_t rows, uint32_t at_least = 1, const C& coop = C()) {
    uint64_t packed = 0;
    if (coop.rank() == 0) packed = pack(reserve_alone(rows, at_least));
    return unpack(from_leader(coop, packed));
  }

  // The rows of a ticket are written, by whichever threads of the group. Answers whether the segment was published.
  template <Coop C = SoloCoop>
  CD_HOST_DEVICE bool commit(const Ticket& ticket, const C& coop = C()) {
    coop.sync();  // the writes of all before the leader's release
    uint64_t published = 0;
    if (coop.rank() == 0) published = commit_alone(ticket);
    return from_leader(coop, published) != 0;
  }

  // Closes the segment that is being filled, if it has rows. All rows that this group committed before are published
  // when the commits of others in the same segment are.
  template <Coop C = SoloCoop>
  CD_HOST_DEVICE Seal seal(const C& coop = C()) {
    uint64_t answer = 0;
    if (coop.rank() == 0) answer = static_cast<uint64_t>(seal_alone());
    return static_cast<Seal>(from_leader(coop, answer));
  }

  CD_HOST_DEVICE std::byte* segment(const Ticket& ticket) const {
    return ring_.segment(ticket.slot);
  }

 private:
  using Word = typename Traits::Word;
  using Orders = typename Traits::Orders;
  using Shared = typename Traits::template Atomic<uint64_t, Traits::kProducers>;
  using HandOver = typename Traits::template Atomic<uint64_t, Traits::kHandOver>;

  // Each failed attempt is the success of another producer; who fails this often may as well be told "not now".
  static constexpr int kAttempts = 64;

  enum class Opening : uint8_t { kOpened, kFull, kLost };

  CD_HOST_DEVICE static uint64_t pack(const Ticket& ticket) {
    return uint64_t{ticket.slot} << 40 | uint64_t{ticket.first} << 20 | ticket.rows;
  }
  CD_HOST_DEVICE static Ticket unpack(uint64_t packed) {
    constexpr uint64_t kMask = (1 << 20) - 1;
    return {static_cast<uint32_t>(packed >> 40),
            static_cast<uint32_t>(packed >> 20 & kMask),
            static_cast<uint32_t>(packed & kMask)};
  }

  CD_HOST_DEVICE Ticket reserve_alone(uint32_t rows, uint32_t at_least) {
    Traits::require(at_least >= 1 && at_least <= rows && at_least <= ring_.shape.rows_max);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const uint64_t tail = Shared(*ring_.tail).load(typename Orders::ReadTail{});
      if (tail == 0) {
        if (open(tail) == Opening::kFull) return {};
        continue;
      }
      const uint64_t slot = ring_.slot_of(tail - 1);
      uint64_t word = Shared(ring_.word(slot)).load(Relaxed{});
      // The opener has counted the segment, and is about to initialise its word.
      if (Word::generation(word) != Word::generation_at(tail - 1, ring_.shape.slot_bits)) return {};
      if (Word::is_closed(word)) {
        if (open(tail) == Opening::kFull) return {};
        continue;
      }
      const uint64_t first = Word::reserved(word);
      const uint64_t left = ring_.shape.rows_max - first;
      if (left < at_least) {
        close(slot, word);
        continue;
      }
      const uint64_t taken = left < rows ? left : rows;
      uint64_t wanted = Word::reserve(word, taken);
      if (taken == left)
        wanted |= Word::kClosed;  // nobody can reserve more: the last commit publishes
      if (Shared(ring_.word(slot)).compare_exchange(word, wanted, typename Orders::Reserve{})) {
        return {static_cast<uint32_t>(slot),
                static_cast<uint32_t>(first),
                static_cast<uint32_t>(taken)};
      }
    }
    return {};
  }

  CD_HOST_DEVICE bool commit_alone(const Ticket& ticket) {
    const uint64_t before =
        Shared(ring_.word(ticket.slot)).fetch_add(ticket.rows, typename Orders::Commit{});
    return publish_if_complete(ticket.slot, before + ticket.rows);
  }

  // Ends: while the segment stays open each turn is one more reserve or commit of others, of which it holds few.
  CD_HOST_DEVICE Seal seal_alone() {
    const uint64_t tail = Shared(*ring_.tail).load(typename Orders::ReadTail{});
    if (tail == 0) return Seal::kNothing;
    const uint64_t slot = ring_.slot_of(tail - 1);
    const uint64_t generation = Word::generation_at(tail - 1, ring_.shape.slot_bits);
    uint64_t word = Shared(ring_.word(slot)).load(Relaxed{});
    while (Word::generation(word) == generation && !Word::is_closed(word) &&
           Word::reserved(word) != 0) {
      const Seal answer = close(slot, word);
      if (answer != Seal::kNothing) return answer;
    }
    return Seal::kNothing;
  }

  // Sets `closed` if the word still is `word`; else `word` becomes what it is. An empty segment is never closed: it
  // would be a segment without rows to send, or one more way for a slot to become free.
  CD_HOST_DEVICE Seal close(uint64_t slot, uint64_t& word) {
    const uint64_t closed = word | Word::kClosed;
    if (!Shared(ring_.word(slot)).compare_exchange(word, closed, typename Orders::Close{}))
      return Seal::kNothing;
    return publish_if_complete(slot, closed) ? Seal::kPublished : Seal::kClosed;
  }

  // `word` is what the caller's own operation made. It is complete for exactly one operation of a segment's life.
  CD_HOST_DEVICE bool publish_if_complete(uint64_t slot, uint64_t word) {
    if (!Word::is_complete(word)) return false;
    Traits::write(ring_.header(slot).rows, static_cast<uint32_t>(Word::reserved(word)));
    HandOver(ring_.ready_word(slot)).store(Word::generation(word), typename Orders::Publish{});
    return true;
  }

  // Makes segment number `tail` the one to fill. Who counts it (wins the exchange) initialises its word; the consumer,
  // who may be on another device, never has to.
  CD_HOST_DEVICE Opening open(uint64_t tail) {
    if (tail - head_seen_ >= ring_.slots()) {
      head_seen_ = HandOver(*ring_.head).load(typename Orders::ReadHead{});
      // The head that was read may be ahead of a tail that was read before: `tail` is old then, and the exchange fails.
      if (tail >= head_seen_ && tail - head_seen_ >= ring_.slots()) return Opening::kFull;
    }
    uint64_t expected = tail;
    if (!Shared(*ring_.tail).compare_exchange(expected, tail + 1, typename Orders::Open{}))
      return Opening::kLost;
    const uint64_t slot = ring_.slot_of(tail);
    clear_bitmaps(slot);
    Traits::write(ring_.header(slot).sequence, tail);
    Shared(ring_.word(slot))
        .store(Word::open(Word::generation_at(tail, ring_.shape.slot_bits)),
               typename Orders::Initialise{});
    return Opening::kOpened;
  }

  CD_HOST_DEVICE void clear_bitmaps(uint64_t slot) {
    auto* bits = reinterpret_cast<uint64_t*>(ring_.segment(slot));
    for (uint64_t at = sizeof(SegmentHeader) / 8; at < ring_.shape.bitmaps_end / 8; ++at) {
      Traits::write(bits[at], uint64_t{0});
    }
  }

  Ring ring_;
  uint64_t head_seen_ =
      0;  // never ahead of the head, so "full" is looked up again and "free" is true
};

}  // namespace crossdock
