// Rows that a function makes, sent without a column between: a filter and a projection inside the kernel that sends.
//
// make(row, value...) writes what is sent of a row, a value per lane, and answers where it goes: kByRule, the number of
// a destination, or kNowhere for a row that is left out. It is called twice for rows that go: first only its answer is
// used, so the compiler leaves out whatever only the values need; then, once there is room for rows that go, the values
// are written straight into their segment. So it must answer the same both times, and change nothing.
//
// Bound: columns that the answer needs are read twice, the second time by the block that has just read them; others
// once, and only in rows that go. What is written has the bytes of rows that go.
#pragma once

#include <cstdint>
#include <type_traits>

#include "data/device/device_port.hpp"
#include "data/device/sorter_scratch.hpp"
#include "data/rings/segment_bits.hpp"

namespace crossdock::device {

inline constexpr uint32_t kNowhere = kByRule - 1;

// A value of a lane that takes NULLs.
template <class T>
struct Nullable {
  T value{};
  bool is_valid = true;
};

// What a lane holds of a made value: booleans are bits.
template <class T>
struct MadeLane {
  using Value = T;
  static constexpr uint16_t kWidthBytes = std::is_same_v<T, bool> ? 0 : sizeof(T);
  CD_HOST_DEVICE static const T& value(const T& item) { return item; }
  CD_HOST_DEVICE static bool is_valid(const T&) { return true; }
};
template <class T>
struct MadeLane<Nullable<T>> : MadeLane<T> {
  CD_HOST_DEVICE static const T& value(const Nullable<T>& item) { return item.value; }
  CD_HOST_DEVICE static bool is_valid(const Nullable<T>& item) { return item.is_valid; }
};

// The values of a row, by lane.
template <class... T>
struct MadeRow;

template <>
struct MadeRow<> {
  template <class Make, class... Value>
  CD_HOST_DEVICE uint32_t fill(const Make& make, uint64_t row, Value&... values) {
    return make(row, values...);
  }
  template <class Visit>
  CD_HOST_DEVICE void each(const Visit&, uint32_t = 0) const {}
};

template <class First, class... Rest>
struct MadeRow<First, Rest...> {
  First first{};
  MadeRow<Rest...> rest{};

  template <class Make, class... Value>
  CD_HOST_DEVICE uint32_t fill(const Make& make, uint64_t row, Value&... values) {
    return rest.fill(make, row, values..., first);
  }
  // visit(lane, value)
  template <class Visit>
  CD_HOST_DEVICE void each(const Visit& visit, uint32_t lane = 0) const {
    visit(lane, first);
    rest.each(visit, lane + 1);
  }
};

// Of block `block` of a port; T are the lanes of the channel.
template <class Traits, class... T>
class MadeSender {
 public:
  CD_HOST_DEVICE MadeSender(const DevicePort& port, uint32_t block, SorterScratch& scratch)
      : port_(port), block_(port, block), stage_(port.node.inputs[block]), scratch_(scratch) {
    Traits::require(block < port.node.stage_count && stage_.layout->lane_count == sizeof...(T) + 1);
  }

  // Rows [first, first + rows) as `make` has them, up to kMadeRowsMax of them and as many as one segment takes. Answers
  // for how many all is done, those that are left out among them; 0 if the stage ring is full, kPortAborted.
  template <class Make, rings::Coop C>
  CD_HOST_DEVICE int64_t send(uint64_t first, uint32_t rows, const Make& make, const C& coop) {
    Traits::require(rows != 0);
    if (rows > kMadeRowsMax) rows = kMadeRowsMax;
    const uint32_t kept = find_kept(first, rows, make, coop);
    if (kept == 0) return rows;
    rings::RingProducer<Traits> producer(stage_.ring);
    const rings::Ticket ticket = producer.reserve(kept, 1, coop);
    if (ticket.rows == 0) return block_.is_aborted(coop) ? kPortAborted : 0;
    uint64_t behind_plus_1 = 0;  // the first row that finds no room
    for (uint32_t row = coop.rank(); row < rows; row += coop.size()) {
      const uint32_t word = scratch_.kept[row / 32];
      if ((word >> row % 32 & 1) == 0) continue;
      const uint32_t place = scratch_.kept_before[row / 32] + ones(word & ((1U << row % 32) - 1));
      if (place < ticket.rows)
        write(first + row, make, producer.segment(ticket), ticket.first + place);
      if (place == ticket.rows) behind_plus_1 = uint64_t{row} + 1;
    }
    producer.commit(ticket, coop);
    block_.tell_progress(coop);
    behind_plus_1 = coop.sum(behind_plus_1);
    return behind_plus_1 == 0 ? rows : static_cast<int64_t>(behind_plus_1 - 1);
  }

 private:
  // A bit per row that goes anywhere, and how many are before each word of them; answers how many there are.
  template <class Make, rings::Coop C>
  CD_HOST_DEVICE uint32_t
  find_kept(uint64_t first, uint32_t rows, const Make& make, const C& coop) {
    using Word = typename Traits::template Atomic<uint32_t, rings::Scope::kBlock>;
    const uint32_t words = (rows + 31) / 32;
    for (uint32_t word = coop.rank(); word < words; word += coop.size()) scratch_.kept[word] = 0;
    coop.sync();
    for (uint32_t row = coop.rank(); row < rows; row += coop.size()) {
      MadeRow<T...> values;
      if (values.fill(make, first + row) != kNowhere)
        Word(scratch_.kept[row / 32]).fetch_or(1U << row % 32, rings::Relaxed{});
    }
    coop.sync();
    for (uint32_t word = coop.rank(); word <= words; word += coop.size()) {
      uint32_t before = 0;
      for (uint32_t at = 0; at < word; ++at) before += ones(scratch_.kept[at]);
      scratch_.kept_before[word] = before;
    }
    coop.sync();
    return scratch_.kept_before[words];
  }

  template <class Make>
  CD_HOST_DEVICE void write(uint64_t row, const Make& make, std::byte* segment, uint32_t at) {
    MadeRow<T...> values;
    const uint32_t to = values.fill(make, row);
    uint64_t key = 0;
    bool has_key = true;
    values.each([&](uint32_t lane, const auto& value) {
      using Lane = MadeLane<std::remove_cvref_t<decltype(value)>>;
      put(lane, value, segment, at);
      if (lane != port_.key.lane) return;
      key = key_of(Lane::value(value));
      has_key = Lane::is_valid(value);
    });
    const rings::SegmentLayout& layout = *stage_.layout;
    layout.template lane<uint16_t>(segment, layout.lane_count - 1)[at] =
        block_.mark_for(to, key, has_key);
  }

  template <class Item>
  CD_HOST_DEVICE void put(uint32_t lane, const Item& item, std::byte* segment, uint32_t at) const {
    using Lane = MadeLane<Item>;
    using Value = typename Lane::Value;
    const rings::SegmentLayout& layout = *stage_.layout;
    Traits::require(layout.width_bytes[lane] == Lane::kWidthBytes);
    if constexpr (std::is_same_v<Value, bool>) {
      rings::or_bits<Traits>(
          layout.template lane<uint64_t>(segment, lane), at, 1, Lane::value(item) ? 1 : 0);
    } else {
      layout.template lane<Value>(segment, lane)[at] = Lane::value(item);
    }
    uint64_t* const validity = layout.validity(segment, lane);
    Traits::require(validity != nullptr || Lane::is_valid(item));
    if (validity != nullptr) rings::or_bits<Traits>(validity, at, 1, Lane::is_valid(item) ? 1 : 0);
  }

  // As 64 bits, by the sign that the channel's keys have; a lane of other values is no key.
  template <class Value>
  CD_HOST_DEVICE uint64_t key_of(const Value& value) const {
    if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
      return port_.key.is_signed ? static_cast<uint64_t>(int64_t{std::make_signed_t<Value>(value)})
                                 : uint64_t{std::make_unsigned_t<Value>(value)};
    }
    return 0;
  }

  CD_HOST_DEVICE static uint32_t ones(uint32_t bits) {
    bits -= bits >> 1 & 0x55555555U;
    bits = (bits & 0x33333333U) + (bits >> 2 & 0x33333333U);
    return ((bits + (bits >> 4)) & 0x0F0F0F0FU) * 0x01010101U >> 24;
  }

  const DevicePort& port_;
  PortBlock<Traits> block_;
  const DeviceRing& stage_;
  SorterScratch& scratch_;
};

}  // namespace crossdock::device
