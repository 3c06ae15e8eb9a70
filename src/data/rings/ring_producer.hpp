// The producers' side of a ring: reserve rows, write them, commit; or seal what there is, for a flush.
//
// Rows whose strings need a heap go another way: look at what the segment being filled has left (offer), choose rows
// that fit, and take exactly that much of both; or pass the segment on, if the next row does not fit.
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

namespace crossdock::rings {

// Rows [first, first + rows) of a slot's segment, to be written and committed by who got them; 0 rows: not now.
struct Ticket {
  uint32_t slot = 0;
  uint32_t first = 0;
  uint32_t rows = 0;
  // Of what was taken of the heap: bytes from the heap's begin, a multiple of a unit.
  uint32_t heap_first = 0;
};

// What a segment has left.
struct Room {
  uint32_t rows = 0;
  uint64_t heap_bytes = 0;
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

  // What the segment being filled has left, after opening one if the last is closed. 0 rows mean that the ring is full,
  // or that others are at the very point of opening a segment: try again later.
  template <Coop C = SoloCoop>
  CD_HOST_DEVICE Room offer(const C& coop = C()) {
    uint64_t packed = 0;
    if (coop.rank() == 0) packed = offer_alone();
    packed = from_leader(coop, packed);
    return {static_cast<uint32_t>(packed & kRoomRowsMask),
            (packed >> kRoomRowBits) * kHeapUnitBytes};
  }

  // Exactly so many rows, and so many bytes of heap (in whole units, at ticket.heap_first), of the segment being
  // filled; or a ticket of 0 rows, if it has not that much, since others took it: ask for another offer. 1 <= rows <=
  // rows_max, heap_bytes <= those of a segment.
  template <Coop C = SoloCoop>
  CD_HOST_DEVICE Ticket take(uint32_t rows, uint64_t heap_bytes, const C& coop = C()) {
    Ticket taken;
    if (coop.rank() == 0) taken = take_alone(rows, heap_bytes);
    Ticket ticket = unpack(from_leader(coop, pack(taken)));
    if (heap_bytes != 0)
      ticket.heap_first = static_cast<uint32_t>(from_leader(coop, taken.heap_first));
    return ticket;
  }

  // Closes the segment being filled if it has less room than that, so that the next offer opens another one. Bounds as
  // in take(), so that an empty segment, which has room for everything, is never closed. Who decides this late, when
  // others have passed the segment on already, does not close the one after it.
  template <Coop C = SoloCoop>
  CD_HOST_DEVICE Seal pass_on(uint32_t rows, uint64_t heap_bytes, const C& coop = C()) {
    uint64_t answer = 0;
    if (coop.rank() == 0) answer = static_cast<uint64_t>(pass_on_alone(rows, heap_bytes));
    return static_cast<Seal>(from_leader(coop, answer));
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

  // The number of the segment that this producer published last, if it did. By the leader of a group.
  CD_HOST_DEVICE uint64_t published() const { return published_; }

  CD_HOST_DEVICE std::byte* segment(const Ticket& ticket) const {
    return ring_.segment(ticket.slot);
  }

 private:
  using Word = typename Traits::Word;
  using Orders = typename Traits::Orders;
  using Shared = typename Traits::template Atomic<uint64_t, Traits::kProducers>;
  using HandOver = typename Traits::template Atomic<uint64_t, Traits::kHandOver>;

  // Each failed attempt is the success of another producer; who fails this often gets the answer "not now".
  static constexpr int kAttempts = 64;

  enum class Opening : uint8_t { kOpened, kFull, kLost };

  static constexpr int kRoomRowBits = 32;
  static constexpr uint64_t kRoomRowsMask = (uint64_t{1} << kRoomRowBits) - 1;

  enum class State : uint8_t {
    kOpen,
    kClosed,    // or there was none yet: the next one is to be opened
    kUnopened,  // another producer has counted it, and is about to initialise its word
  };

  // The last segment, as a guess that an exchange has to confirm.
  struct Last {
    State state = State::kClosed;
    uint64_t tail = 0;
    uint64_t slot = 0;
    uint64_t word = 0;
  };

  CD_HOST_DEVICE static uint64_t pack(const Ticket& ticket) {
    return uint64_t{ticket.slot} << 40 | uint64_t{ticket.first} << 20 | ticket.rows;
  }
  CD_HOST_DEVICE static Ticket unpack(uint64_t packed) {
    constexpr uint64_t kMask = (1 << 20) - 1;
    return {static_cast<uint32_t>(packed >> 40),
            static_cast<uint32_t>(packed >> 20 & kMask),
            static_cast<uint32_t>(packed & kMask),
            0};
  }

  CD_HOST_DEVICE Last find_last() {
    Last last;
    last.tail = Shared(*ring_.tail).load(typename Orders::ReadTail{});
    if (last.tail == 0) return last;
    last.slot = ring_.slot_of(last.tail - 1);
    last.word = Shared(ring_.word(last.slot)).load(Relaxed{});
    last.state = state_of(last);
    return last;
  }

  CD_HOST_DEVICE State state_of(const Last& last) const {
    if (Word::generation(last.word) != Word::generation_at(last.tail - 1, ring_.shape.slot_bits))
      return State::kUnopened;
    return Word::is_closed(last.word) ? State::kClosed : State::kOpen;
  }

  CD_HOST_DEVICE uint64_t rows_left(uint64_t word) const {
    return ring_.shape.rows_max - Word::reserved(word);
  }
  CD_HOST_DEVICE uint64_t units_left(uint64_t word) const {
    return ring_.shape.heap_bytes / kHeapUnitBytes - Word::heap_units(word);
  }
  CD_HOST_DEVICE bool has_room(uint64_t word, uint64_t rows, uint64_t heap_units) const {
    return rows_left(word) >= rows && units_left(word) >= heap_units;
  }

  CD_HOST_DEVICE uint64_t units_of(uint32_t rows, uint64_t heap_bytes) const {
    Traits::require(rows >= 1 && rows <= ring_.shape.rows_max &&
                    heap_bytes <= ring_.shape.heap_bytes);
    return (heap_bytes + kHeapUnitBytes - 1) / kHeapUnitBytes;
  }

  // Heap units and rows, packed.
  CD_HOST_DEVICE uint64_t offer_alone() {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Last last = find_last();
      if (last.state == State::kOpen)
        return units_left(last.word) << kRoomRowBits | rows_left(last.word);
      if (last.state == State::kUnopened || open(last.tail) == Opening::kFull) return 0;
    }
    return 0;
  }

  CD_HOST_DEVICE Ticket take_alone(uint32_t rows, uint64_t heap_bytes) {
    const uint64_t heap_units = units_of(rows, heap_bytes);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const Last last = find_last();
      if (last.state != State::kOpen || !has_room(last.word, rows, heap_units)) return {};
      const Ticket ticket = exchange(last, rows, heap_units);
      if (ticket.rows != 0) return ticket;
    }
    return {};
  }

  // 0 rows if the word is another one by now.
  CD_HOST_DEVICE Ticket exchange(const Last& last, uint64_t rows, uint64_t heap_units) {
    uint64_t reserved = Word::reserve(last.word, rows, heap_units);
    // No producer can reserve more: the last commit publishes. A heap without room closes nothing, for rows without
    // strings may still come.
    if (rows == rows_left(last.word)) reserved |= Word::kClosed;
    uint64_t word = last.word;
    if (!Shared(ring_.word(last.slot)).compare_exchange(word, reserved, typename Orders::Reserve{}))
      return {};
    return {static_cast<uint32_t>(last.slot),
            static_cast<uint32_t>(Word::reserved(word)),
            static_cast<uint32_t>(rows),
            static_cast<uint32_t>(Word::heap_units(word) * kHeapUnitBytes)};
  }

  CD_HOST_DEVICE Ticket reserve_alone(uint32_t rows, uint32_t at_least) {
    Traits::require(at_least >= 1 && at_least <= rows && at_least <= ring_.shape.rows_max);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Last last = find_last();
      if (last.state == State::kUnopened) return {};
      if (last.state == State::kClosed) {
        if (open(last.tail) == Opening::kFull) return {};
        continue;
      }
      const uint64_t left = rows_left(last.word);
      if (left < at_least) {
        close(last.slot, last.word);
        continue;
      }
      const Ticket ticket = exchange(last, left < rows ? left : rows, 0);
      if (ticket.rows != 0) return ticket;
    }
    return {};
  }

  CD_HOST_DEVICE bool commit_alone(const Ticket& ticket) {
    const uint64_t before =
        Shared(ring_.word(ticket.slot)).fetch_add(ticket.rows, typename Orders::Commit{});
    return publish_if_complete(ticket.slot, before + ticket.rows);
  }

  // An empty segment alone has room for all rows.
  CD_HOST_DEVICE Seal seal_alone() { return close_without_room(ring_.shape.rows_max, 0); }
  CD_HOST_DEVICE Seal pass_on_alone(uint32_t rows, uint64_t heap_bytes) {
    return close_without_room(rows, units_of(rows, heap_bytes));
  }

  // Ends: while the segment stays open each turn is one more reserve or commit of others, of which it holds few.
  CD_HOST_DEVICE Seal close_without_room(uint64_t rows, uint64_t heap_units) {
    Last last = find_last();
    while (last.state == State::kOpen && !has_room(last.word, rows, heap_units)) {
      const Seal answer = close(last.slot, last.word);
      if (answer != Seal::kNothing) return answer;
      last.state = state_of(last);
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
    SegmentHeader& header = ring_.header(slot);
    Traits::write(header.rows, static_cast<uint32_t>(Word::reserved(word)));
    Traits::write(header.heap_bytes,
                  static_cast<uint32_t>(Word::heap_units(word) * kHeapUnitBytes));
    // Read while the segment is still the producers': once published it may be another one.
    published_ = Traits::read(header.sequence);
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
  // Never ahead of the head, so "full" is looked up again and "free" is true.
  uint64_t head_seen_ = 0;
  uint64_t published_ = 0;
};

}  // namespace crossdock::rings
