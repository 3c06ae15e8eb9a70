// Producers of rows with strings that get the protocol wrong on purpose, each in the one way that its name says.
#pragma once

#include "data/rings/mutant_producers.hpp"

namespace crossdock::rings {

template <class Traits>
class TextMutant : public Mutant<Traits> {
 public:
  using Mutant<Traits>::Mutant;

 protected:
  using Word = typename Traits::Word;
  using Shared = typename Mutant<Traits>::Shared;

  uint64_t last_slot() { return this->ring_.slot_of(this->open_position() - 1); }
  uint64_t rows_left(uint64_t word) { return this->ring_.shape.rows_max - Word::reserved(word); }
  uint64_t bytes_left(uint64_t word) {
    return this->ring_.shape.heap_bytes - Word::heap_units(word) * kHeapUnitBytes;
  }
  static Ticket ticket_of(uint64_t slot, uint64_t word, uint32_t rows) {
    return {static_cast<uint32_t>(slot),
            static_cast<uint32_t>(Word::reserved(word)),
            rows,
            static_cast<uint32_t>(Word::heap_units(word) * kHeapUnitBytes)};
  }
};

// Takes the rows in one exchange and the heap in another.
template <class Traits>
class TakesTheHeapLater : public TextMutant<Traits> {
 public:
  using TextMutant<Traits>::TextMutant;
  Ticket take(uint32_t rows, uint64_t heap_bytes) {
    using Fields = typename Traits::Word;
    const uint64_t slot = this->last_slot();
    typename Mutant<Traits>::Shared shared(this->ring_.word(slot));
    uint64_t word = shared.load(Relaxed{});
    if (Fields::is_closed(word) || this->rows_left(word) < rows ||
        this->bytes_left(word) < heap_bytes)
      return {};
    uint64_t claimed = Fields::reserve(word, rows);
    if (Fields::reserved(claimed) == this->ring_.shape.rows_max) claimed |= Fields::kClosed;
    if (!shared.compare_exchange(word, claimed, Acquire{})) return {};
    shared.fetch_add(Fields::reserve(0, 0, heap_bytes / kHeapUnitBytes), Acquire{});
    return this->ticket_of(slot, word, rows);
  }
};

// Believes that what was offered is still there.
template <class Traits>
class TakesWithoutALook : public TextMutant<Traits> {
 public:
  using TextMutant<Traits>::TextMutant;
  Ticket take(uint32_t rows, uint64_t heap_bytes) {
    using Fields = typename Traits::Word;
    const uint64_t slot = this->last_slot();
    typename Mutant<Traits>::Shared shared(this->ring_.word(slot));
    uint64_t word = shared.load(Relaxed{});
    if (Fields::is_closed(word) || this->rows_left(word) < rows) return {};
    uint64_t claimed = Fields::reserve(word, rows, heap_bytes / kHeapUnitBytes);
    if (Fields::reserved(claimed) == this->ring_.shape.rows_max) claimed |= Fields::kClosed;
    if (!shared.compare_exchange(word, claimed, Acquire{})) return {};
    return this->ticket_of(slot, word, rows);
  }
};

// Closes whatever is being filled when it comes to it, which may be the next segment, still without rows.
template <class Traits>
class PassesOnBlindly : public TextMutant<Traits> {
 public:
  using TextMutant<Traits>::TextMutant;
  Seal pass_on(uint32_t, uint64_t) {
    using Fields = typename Traits::Word;
    const uint64_t slot = this->last_slot();
    const uint64_t before = typename Mutant<Traits>::Shared(this->ring_.word(slot))
                                .fetch_or(Fields::kClosed, AcquireRelease{});
    if (Fields::is_closed(before) || !Fields::is_complete(before | Fields::kClosed))
      return Seal::kNothing;
    this->publish(slot, before);
    return Seal::kPublished;
  }
};

// Closes by load and store.
template <class Traits>
class PassesOnByStore : public TextMutant<Traits> {
 public:
  using TextMutant<Traits>::TextMutant;
  Seal pass_on(uint32_t, uint64_t heap_bytes) {
    using Fields = typename Traits::Word;
    const uint64_t slot = this->last_slot();
    typename Mutant<Traits>::Shared shared(this->ring_.word(slot));
    const uint64_t word = shared.load(Acquire{});
    if (Fields::is_closed(word) || this->bytes_left(word) >= heap_bytes) return Seal::kNothing;
    shared.store(word | Fields::kClosed, Release{});
    if (!Fields::is_complete(word | Fields::kClosed)) return Seal::kClosed;
    this->publish(slot, word);
    return Seal::kPublished;
  }
};

// Leaves it to the last commit to publish, even when that has been.
template <class Traits>
class PassesOnWithoutPublishing : public TextMutant<Traits> {
 public:
  using TextMutant<Traits>::TextMutant;
  Seal pass_on(uint32_t, uint64_t heap_bytes) {
    using Fields = typename Traits::Word;
    typename Mutant<Traits>::Shared shared(this->ring_.word(this->last_slot()));
    uint64_t word = shared.load(Relaxed{});
    while (!Fields::is_closed(word) && this->bytes_left(word) < heap_bytes) {
      if (shared.compare_exchange(word, word | Fields::kClosed, Acquire{})) return Seal::kClosed;
    }
    return Seal::kNothing;
  }
};

}  // namespace crossdock::rings
