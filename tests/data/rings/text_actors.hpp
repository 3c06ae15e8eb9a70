// Actors over rings with strings: one appends numbers, each with a text that says the number once per unit of the heap
// that it takes; one reads them back. Templates over the traits, as in ring_actors.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "data/rings/ring_actors.hpp"

namespace crossdock::rings {

// A view as these tests write it: the units of its text, and where it begins.
struct TestView {
  uint64_t units;
  uint64_t from_bytes;
};

inline TestView& view_of(const TestRing& ring, std::byte* segment, uint64_t row) {
  return ring.layout().lane<TestView>(segment, 1)[row];
}
inline uint64_t& heap_word(const TestRing& ring, std::byte* segment, uint64_t from_bytes) {
  return *reinterpret_cast<uint64_t*>(segment + ring.layout().heap_offset + from_bytes);
}

// Appends `values`, up to batch_rows at a time, value v with a text of v mod (units_max + 1) units; then it seals.
template <class Traits, class Producer = RingProducer<Traits>>
class TextActor : public Actor {
 public:
  TextActor(const TestRing& ring,
            std::vector<uint64_t> values,
            uint64_t units_max,
            uint32_t batch_rows = 1)
      : ring_(ring),
        producer_(ring.ring()),
        values_(std::move(values)),
        units_max_(units_max),
        batch_rows_(batch_rows) {}

  Step step() override {
    if (next_ == values_.size()) return seal_once(producer_, sealed_);
    const Room room = producer_.offer();
    if (room.rows == 0) return Step::kIdle;
    uint32_t rows = 0;
    uint64_t bytes = 0;
    while (rows < std::min(batch_rows_, room.rows) && next_ + rows < values_.size() &&
           bytes + bytes_of(next_ + rows) <= room.heap_bytes) {
      bytes += bytes_of(next_ + rows);
      ++rows;
    }
    if (rows == 0) {
      producer_.pass_on(1, bytes_of(next_));
      return Step::kProgress;
    }
    const Ticket ticket = producer_.take(rows, bytes);
    if (ticket.rows != 0) write(ticket, bytes);
    return Step::kProgress;
  }

  std::string state() const override {
    return fmt::format("append {} of {}: {}", next_, values_.size(), state_of<Traits>(ring_));
  }

  const std::string& wrong() const { return wrong_; }

 private:
  uint64_t bytes_of(size_t at) const {
    return values_[at] % (units_max_ + 1) * uint64_t{kHeapUnitBytes};
  }

  void write(const Ticket& ticket, uint64_t bytes) {
    if (ticket.heap_first + bytes > ring_.layout().heap_bytes) {
      wrong_ = fmt::format("{} bytes from {} on are beyond the heap; ", bytes, ticket.heap_first);
      bytes = 0;
    }
    std::byte* segment = ring_.ring().segment(ticket.slot);
    uint64_t from = ticket.heap_first;
    for (uint32_t row = 0; row < ticket.rows; ++row) {
      const uint64_t units = bytes == 0 ? 0 : bytes_of(next_) / kHeapUnitBytes;
      Traits::write(ring_.value(ticket.slot, ticket.first + row), values_[next_]);
      TestView& view = view_of(ring_, segment, ticket.first + row);
      Traits::write(view.units, units);
      Traits::write(view.from_bytes, from);
      for (uint64_t unit = 0; unit < units; ++unit, from += kHeapUnitBytes)
        Traits::write(heap_word(ring_, segment, from), values_[next_]);
      ++next_;
    }
    producer_.commit(ticket);
  }

  const TestRing& ring_;
  Producer producer_;
  std::vector<uint64_t> values_;
  uint64_t units_max_;
  uint32_t batch_rows_;
  size_t next_ = 0;
  bool sealed_ = false;
  std::string wrong_;
};

// Takes segments until all expected rows are there, and reads every text.
template <class Traits>
class ReadTextsActor : public Actor {
 public:
  ReadTextsActor(const TestRing& ring, Collected& collected, uint64_t units_max)
      : ring_(ring), consumer_(ring.ring()), collected_(collected), units_max_(units_max) {}

  Step step() override {
    if (collected_.values.size() >= collected_.expected_rows) return Step::kDone;
    std::byte* segment = consumer_.front();
    if (segment == nullptr) return Step::kIdle;
    const auto* header = reinterpret_cast<const SegmentHeader*>(segment);
    const uint32_t rows = Traits::read(header->rows);
    const uint32_t heap_bytes = Traits::read(header->heap_bytes);
    if (rows == 0) collected_.wrong += "an empty segment was published; ";
    collected_.sequences.push_back(Traits::read(header->sequence));
    uint64_t bytes = 0;
    for (uint32_t row = 0; row < rows; ++row) bytes += read(segment, row);
    if (bytes != heap_bytes)
      collected_.wrong += fmt::format("{} bytes of strings, but {} counted; ", bytes, heap_bytes);
    consumer_.recycle();
    return Step::kProgress;
  }

  std::string state() const override {
    return fmt::format("read {} of {}: {}",
                       collected_.values.size(),
                       collected_.expected_rows,
                       state_of<Traits>(ring_));
  }

 private:
  uint64_t read(std::byte* segment, uint32_t row) {
    const uint64_t value =
        Traits::read(ring_.layout().template lane<const uint64_t>(segment, 0)[row]);
    collected_.values.push_back(value);
    const TestView& view = view_of(ring_, segment, row);
    const uint64_t units = Traits::read(view.units);
    const uint64_t from = Traits::read(view.from_bytes);
    if (units != value % (units_max_ + 1))
      collected_.wrong += fmt::format("row {} has {} units; ", value, units);
    for (uint64_t unit = 0; unit < units; ++unit) {
      const uint64_t said = Traits::read(heap_word(ring_, segment, from + unit * kHeapUnitBytes));
      if (said != value) collected_.wrong += fmt::format("row {} says {}; ", value, said);
    }
    return units * kHeapUnitBytes;
  }

  const TestRing& ring_;
  RingConsumer<Traits> consumer_;
  Collected& collected_;
  uint64_t units_max_;
};

}  // namespace crossdock::rings
