// Cursors of one lane, and the loop over its values per width and instruction set.
#include "data/sorters/range_scatter.hpp"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/sorters/range_scatter.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::sorters::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Not inlined into the loop over rows: one row in 16 comes here.
HWY_NOINLINE void flush_range(const LaneCursors& cursors, uint32_t range, int width) {
  const hn::CappedTag<uint64_t, 8> lanes;
  uint8_t* const buffer = cursors.buffers + range * uint64_t{kRangeBufferBytes};
  uint8_t* const place = cursors.places[range];
  const int skipped = cursors.skip[range] * width;
  if (HWY_UNLIKELY(skipped > 0)) {
    std::memcpy(
        place + skipped, buffer + skipped, static_cast<size_t>(kRangeBufferBytes - skipped));
    cursors.skip[range] = 0;
  } else {
    const auto* from = reinterpret_cast<const uint64_t*>(buffer);
    auto* to = reinterpret_cast<uint64_t*>(place);
    constexpr size_t kWords = kRangeBufferBytes / 8;
    if (cursors.streams) {
      for (size_t i = 0; i < kWords; i += hn::Lanes(lanes)) {
        hn::Stream(hn::Load(lanes, from + i), lanes, to + i);
      }
    } else {
      for (size_t i = 0; i < kWords; i += hn::Lanes(lanes)) {
        hn::Store(hn::Load(lanes, from + i), lanes, to + i);
      }
    }
  }
  cursors.places[range] = place + kRangeBufferBytes;
  cursors.fill[range] = 0;
}

struct Wide {
  uint64_t low;
  uint64_t high;
};

template <class Value>
HWY_INLINE void put_values(const LaneCursors& cursors,
                           const uint8_t* HWY_RESTRICT values,
                           const uint16_t* HWY_RESTRICT ranges,
                           int32_t rows) {
  constexpr uint32_t kFull = kRangeBufferBytes / sizeof(Value);
  uint8_t* const buffers = cursors.buffers;
  uint8_t* const fill = cursors.fill;
  for (int32_t i = 0; i < rows; ++i) {
    const uint32_t range = ranges[i];
    const uint32_t at = fill[range];
    std::memcpy(buffers + range * uint64_t{kRangeBufferBytes} + at * sizeof(Value),
                values + i * sizeof(Value),
                sizeof(Value));
    fill[range] = static_cast<uint8_t>(at + 1);
    if (HWY_UNLIKELY(at + 1 == kFull)) flush_range(cursors, range, sizeof(Value));
  }
}

void put_lane(const LaneCursors& cursors,
              int width,
              const uint8_t* values,
              const uint16_t* ranges,
              int32_t rows) {
  switch (width) {
    case 1:
      return put_values<uint8_t>(cursors, values, ranges, rows);
    case 2:
      return put_values<uint16_t>(cursors, values, ranges, rows);
    case 4:
      return put_values<uint32_t>(cursors, values, ranges, rows);
    case 8:
      return put_values<uint64_t>(cursors, values, ranges, rows);
    default:
      return put_values<Wide>(cursors, values, ranges, rows);
  }
}

}  // namespace crossdock::sorters::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::sorters {

HWY_EXPORT(put_lane);

namespace {

constexpr uintptr_t kLine = 64;  // what a streaming store is aligned to
constexpr int64_t kBytesPerRange = kRangeBufferBytes + sizeof(uint8_t*) + 2;

}  // namespace

int lanes_at_once(int ranges, int64_t l2_bytes) {
  return static_cast<int>(std::max<int64_t>(1, l2_bytes / 2 / (ranges * kBytesPerRange)));
}

Status LaneScatter::open(Memory& memory, int ranges, int width, bool streams, const char* who) {
  ranges_ = ranges;
  width_ = width;
  streams_ = streams;
  CD_ASSIGN(block_, memory.get(ranges * kBytesPerRange, who));
  return {};
}

LaneCursors LaneScatter::cursors() {
  uint8_t* at = block_.data();
  LaneCursors cursors;
  cursors.buffers = at;
  cursors.places = reinterpret_cast<uint8_t**>(at + ranges_ * int64_t{kRangeBufferBytes});
  cursors.fill = reinterpret_cast<uint8_t*>(cursors.places + ranges_);
  cursors.skip = cursors.fill + ranges_;
  cursors.streams = streams_;
  return cursors;
}

void LaneScatter::start(int range, uint8_t* place) {
  const LaneCursors lane = cursors();
  const uintptr_t into_line = reinterpret_cast<uintptr_t>(place) % kLine;
  lane.places[range] = place - into_line;
  lane.fill[range] = static_cast<uint8_t>(into_line / static_cast<uintptr_t>(width_));
  lane.skip[range] = lane.fill[range];
}

void LaneScatter::put(const uint8_t* values, const uint16_t* ranges, int32_t rows) {
  HWY_DYNAMIC_DISPATCH(put_lane)(cursors(), width_, values, ranges, rows);
}

void LaneScatter::finish() {
  const LaneCursors lane = cursors();
  for (int range = 0; range < ranges_; ++range) {
    const int from = lane.skip[range] * width_;
    const int bytes = lane.fill[range] * width_ - from;
    if (bytes > 0) {
      std::memcpy(lane.places[range] + from,
                  lane.buffers + range * int64_t{kRangeBufferBytes} + from,
                  static_cast<size_t>(bytes));
    }
  }
  hwy::FlushStream();
  block_.reset();
}

}  // namespace crossdock::sorters
#endif
