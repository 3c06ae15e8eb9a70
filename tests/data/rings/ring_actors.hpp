// Small actors over rings for tests: one appends numbers, one collects them. Templates over the traits, so that the
// same code runs on threads, in an order by chance and in the model.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/rings/actor.hpp"
#include "data/rings/make_segment_layout.hpp"
#include "data/rings/place_ring.hpp"
#include "data/rings/ring_consumer.hpp"
#include "data/rings/ring_producer.hpp"
#include "data/rings/ring_state.hpp"
#include "data/rings/segment_bits.hpp"

namespace crossdock::rings {

// A ring of segments with one 8-byte column, and one of strings if there is a heap; and its memory.
class TestRing {
 public:
  TestRing(int slot_bits, uint32_t rows_max, bool nullable = false, uint64_t heap_bytes = 0) {
    std::vector<LaneShape> lanes = {{.width_bytes = 8, .nullable = nullable}};
    if (heap_bytes != 0) lanes.push_back({.width_bytes = 16, .is_text = true});
    layout_ = make_segment_layout(lanes, rows_max, heap_bytes).value();
    const RingShape shape = make_ring_shape(layout_, slot_bits).value();
    const size_t bytes = ring_bytes(shape);
    memory_.reset(
        static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kRingLineBytes})));
    std::memset(memory_.get(), 0, bytes);
    ring_ = place_ring(shape, {memory_.get(), bytes}).value();
  }

  const Ring& ring() const { return ring_; }
  const SegmentLayout& layout() const { return layout_; }
  uint64_t& value(uint64_t slot, uint64_t row) const {
    return layout_.lane<uint64_t>(ring_.segment(slot), 0)[row];
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{kRingLineBytes});
    }
  };
  std::unique_ptr<std::byte, Free> memory_;
  SegmentLayout layout_;
  Ring ring_;
};

// In a column that may be NULL, numbers that 3 divides are.
inline bool is_valid(uint64_t value) { return value % 3 != 0; }

template <class Traits>
std::string state_of(const TestRing& ring) {
  using Word = typename Traits::Word;
  return ring_state(ring.ring(),
                    {.generation_bits = std::popcount(Word::kGenerationMask),
                     .heap_bits = std::popcount(Word::kHeapUnitsMax),
                     .row_bits = std::popcount(Word::kRowsMax)});
}

// The last steps of who appends: it seals, and then it is done.
template <class Producer>
Step seal_once(Producer& producer, bool& sealed) {
  if (sealed) return Step::kDone;
  producer.seal();
  sealed = true;
  return Step::kProgress;
}

// Appends `values`, at most batch_rows at a time, and seals; then it is done.
template <class Traits, class Producer = RingProducer<Traits>>
class AppendActor : public Actor {
 public:
  AppendActor(const TestRing& ring, std::vector<uint64_t> values, uint32_t batch_rows = 1)
      : ring_(ring), producer_(ring.ring()), values_(std::move(values)), batch_rows_(batch_rows) {}

  Step step() override {
    if (next_ == values_.size()) return seal_once(producer_, sealed_);
    const size_t left = values_.size() - next_;
    const Ticket ticket =
        producer_.reserve(std::min<uint32_t>(batch_rows_, static_cast<uint32_t>(left)));
    if (ticket.rows == 0) return Step::kIdle;
    for (uint32_t row = 0; row < ticket.rows; ++row) {
      const uint64_t value = values_[next_++];
      Traits::write(ring_.value(ticket.slot, ticket.first + row), value);
      uint64_t* validity = ring_.layout().validity(ring_.ring().segment(ticket.slot), 0);
      if (validity != nullptr) or_bits<Traits>(validity, ticket.first + row, 1, is_valid(value));
    }
    producer_.commit(ticket);
    return Step::kProgress;
  }

  std::string state() const override {
    return fmt::format("append {} of {} {}: {}",
                       next_,
                       values_.size(),
                       sealed_ ? "sealed" : "not sealed",
                       state_of<Traits>(ring_));
  }

 private:
  const TestRing& ring_;
  Producer producer_;
  std::vector<uint64_t> values_;
  size_t next_ = 0;
  uint32_t batch_rows_;
  bool sealed_ = false;
};

// What one or more collectors share: plain memory that the consumers' lock protects.
struct Collected {
  uint64_t expected_rows = 0;
  std::vector<uint64_t> values;
  std::vector<uint64_t> sequences;
  std::string wrong;
  uint64_t taken = 0;  // an atomic word: rows so far, for collectors that find nothing to take
};

// Takes segments until all expected rows are there. With `locks`, one of several.
template <class Traits>
class CollectActor : public Actor {
 public:
  CollectActor(const TestRing& ring, Collected& collected, bool locks = false)
      : ring_(ring), consumer_(ring.ring()), collected_(collected), locks_(locks) {}

  Step step() override {
    if (!locks_) return take();
    if (Taken(collected_.taken).load(Relaxed{}) == collected_.expected_rows) return Step::kDone;
    // Without the lock only a hint, but one that keeps those who would find nothing from taking it.
    if (consumer_.front() == nullptr) return Step::kIdle;
    if (!consumer_.try_lock()) return Step::kIdle;
    const Step answer = take();
    consumer_.unlock();
    return answer;
  }

  std::string state() const override {
    return fmt::format("collect {} of {}: {}",
                       collected_.values.size(),
                       collected_.expected_rows,
                       state_of<Traits>(ring_));
  }

 private:
  using Taken = typename Traits::template Atomic<uint64_t, Traits::kConsumers>;

  Step take() {
    if (collected_.values.size() >= collected_.expected_rows) return Step::kDone;
    std::byte* segment = consumer_.front();
    if (segment == nullptr) return Step::kIdle;
    const auto* header = reinterpret_cast<const SegmentHeader*>(segment);
    const auto* values = ring_.layout().template lane<uint64_t>(segment, 0);
    const uint64_t* validity = ring_.layout().validity(segment, 0);
    const uint32_t rows = Traits::read(header->rows);
    if (rows == 0) collected_.wrong += "an empty segment was published; ";
    collected_.sequences.push_back(Traits::read(header->sequence));
    for (uint32_t row = 0; row < rows; ++row) {
      const uint64_t value = Traits::read(values[row]);
      collected_.values.push_back(value);
      if (validity == nullptr) continue;
      const bool valid = (Traits::read(validity[row / 64]) >> row % 64 & 1) != 0;
      if (valid != is_valid(value))
        collected_.wrong += fmt::format("row {} is valid: {}; ", value, valid);
    }
    consumer_.recycle();
    Taken(collected_.taken).store(collected_.values.size(), Relaxed{});
    return Step::kProgress;
  }

  const TestRing& ring_;
  RingConsumer<Traits> consumer_;
  Collected& collected_;
  bool locks_;
};

// "" if exactly the expected values came, each segment once and in order; else what is wrong.
inline std::string verdict_of(const Collected& collected, std::vector<uint64_t> expected) {
  std::vector<uint64_t> values = collected.values;
  std::sort(values.begin(), values.end());
  std::sort(expected.begin(), expected.end());
  std::string wrong = collected.wrong;
  if (values != expected) wrong += fmt::format("got the rows {}; ", fmt::join(values, " "));
  for (size_t at = 0; at < collected.sequences.size(); ++at) {
    if (collected.sequences[at] != at)
      wrong += fmt::format("segment {} is number {}; ", at, collected.sequences[at]);
  }
  return wrong;
}

}  // namespace crossdock::rings
