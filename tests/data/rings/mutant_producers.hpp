// Producers that get the protocol wrong on purpose, each in the one way that its name says. Tests show that the model
// finds every one of them out; a checker that has never found anything proves nothing.
#pragma once

#include "data/rings/model.hpp"
#include "data/rings/ring_producer.hpp"

namespace crossdock::rings {

template <class Traits>
class Mutant : public RingProducer<Traits> {
 public:
  explicit Mutant(const Ring& ring) : RingProducer<Traits>(ring), ring_(ring) {}

 protected:
  using Word = typename Traits::Word;
  using Shared = typename Traits::template Atomic<uint64_t, Traits::kProducers>;
  using HandOver = typename Traits::template Atomic<uint64_t, Traits::kHandOver>;

  void publish(uint64_t slot, uint64_t word) {
    Traits::write(ring_.header(slot).rows, static_cast<uint32_t>(Word::reserved(word)));
    Traits::write(ring_.header(slot).heap_bytes,
                  static_cast<uint32_t>(Word::heap_units(word) * kHeapUnitBytes));
    HandOver(ring_.ready_word(slot)).store(Word::generation(word), Release{});
  }
  uint64_t open_position() { return Shared(*ring_.tail).load(Acquire{}); }

  Ring ring_;
};

// Counts the rows as committed after the segment has been handed over.
template <class Traits>
class PublishesBeforeCommit : public Mutant<Traits> {
 public:
  using Mutant<Traits>::Mutant;
  bool commit(const Ticket& ticket) {
    using Fields = typename Traits::Word;
    typename Mutant<Traits>::Shared shared(this->ring_.word(ticket.slot));
    const uint64_t before = shared.load(Acquire{});
    const bool last = Fields::is_complete(before + ticket.rows);
    if (last) this->publish(ticket.slot, before + ticket.rows);
    shared.fetch_add(ticket.rows, AcquireRelease{});
    return last;
  }
};

// Publishes a closed segment at each commit, without a look at who is still writing.
template <class Traits>
class PublishesTwice : public Mutant<Traits> {
 public:
  using Mutant<Traits>::Mutant;
  bool commit(const Ticket& ticket) {
    using Fields = typename Traits::Word;
    typename Mutant<Traits>::Shared shared(this->ring_.word(ticket.slot));
    const uint64_t now = shared.fetch_add(ticket.rows, AcquireRelease{}) + ticket.rows;
    if (Fields::is_closed(now)) this->publish(ticket.slot, now);
    return Fields::is_closed(now);
  }
};

// Counts in two accesses instead of one.
template <class Traits>
class CommitsByStore : public Mutant<Traits> {
 public:
  using Mutant<Traits>::Mutant;
  bool commit(const Ticket& ticket) {
    typename Mutant<Traits>::Shared shared(this->ring_.word(ticket.slot));
    const uint64_t now = shared.load(Acquire{}) + ticket.rows;
    shared.store(now, Release{});
    if (Traits::Word::is_complete(now)) this->publish(ticket.slot, now);
    return Traits::Word::is_complete(now);
  }
};

// Leaves it to the last commit to publish, even when that has been.
template <class Traits>
class SealsWithoutPublishing : public Mutant<Traits> {
 public:
  using Mutant<Traits>::Mutant;
  Seal seal() {
    using Fields = typename Traits::Word;
    const uint64_t tail = this->open_position();
    if (tail == 0) return Seal::kNothing;
    typename Mutant<Traits>::Shared shared(this->ring_.word(this->ring_.slot_of(tail - 1)));
    uint64_t word = shared.load(Relaxed{});
    while (!Fields::is_closed(word) && Fields::reserved(word) != 0) {
      if (shared.compare_exchange(word, word | Fields::kClosed, Acquire{})) return Seal::kClosed;
    }
    return Seal::kNothing;
  }
};

// Closes whatever is there. An empty segment is complete at once, and goes out without a row.
template <class Traits>
class SealsEmptySegments : public Mutant<Traits> {
 public:
  using Mutant<Traits>::Mutant;
  Seal seal() {
    using Fields = typename Traits::Word;
    const uint64_t tail = this->open_position();
    if (tail == 0) return Seal::kNothing;
    const uint64_t slot = this->ring_.slot_of(tail - 1);
    const uint64_t before = typename Mutant<Traits>::Shared(this->ring_.word(slot))
                                .fetch_or(Fields::kClosed, AcquireRelease{});
    if (Fields::is_closed(before) || !Fields::is_complete(before | Fields::kClosed))
      return Seal::kNothing;
    this->publish(slot, before);
    return Seal::kPublished;
  }
};

// Opens the next segment without waiting for the consumer to give the slot back.
template <class Traits>
class IgnoresTheHead : public Mutant<Traits> {
 public:
  explicit IgnoresTheHead(const Ring& ring) : Mutant<Traits>(with_head_of_its_own(ring)) {}

 private:
  static Ring with_head_of_its_own(Ring ring) {
    static uint64_t far_ahead = uint64_t{1} << 40;
    ring.head = &far_ahead;
    return ring;
  }
};

}  // namespace crossdock::rings
