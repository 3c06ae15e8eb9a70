// Write-combining in software.
#include "data/sorters/scatter_kernel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/sorters/scatter_kernel.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::sorters::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void stream_lane(const uint64_t* HWY_RESTRICT from, uint64_t* HWY_RESTRICT to) {
  const hn::CappedTag<uint64_t, kFlushRows> lanes;
  for (size_t i = 0; i < kFlushRows; i += hn::Lanes(lanes)) {
    hn::Stream(hn::Load(lanes, from + i), lanes, to + i);
  }
}

// kCarried: lanes that a row carries; -1 = as many as the state says (rows of many lanes).
template <int kCarried>
HWY_INLINE int32_t lanes_of(const ScatterState& state) {
  return kCarried >= 0 ? kCarried : state.carried_lanes;
}

template <int kCarried>
HWY_INLINE void flush_into(const ScatterState& state, uint32_t partition) {
  const int32_t carried = lanes_of<kCarried>(state);
  const uint64_t* buffer = state.buffers + size_t{partition} * (carried + 1) * kFlushRows;
  ScatterCursor& cursor = state.cursors[partition];
  for (int32_t lane = 0; lane <= carried; ++lane) {
    stream_lane(buffer + lane * kFlushRows, cursor.words + lane * cursor.lane_offset);
  }
  cursor.words += kFlushRows;
  cursor.room_rows -= kFlushRows;
  state.fill[partition] = 0;
}

template <int kCarried, bool kIsNamed>
int32_t scatter(const ScatterState& state,
                const ScatterInput& input,
                int32_t begin,
                uint32_t* blocked) {
  const int32_t lanes = lanes_of<kCarried>(state);
  const size_t stride = size_t{kFlushRows} * (lanes + 1);
  uint64_t* const buffers = state.buffers;
  uint8_t* const fill = state.fill;
  const uint64_t* const words = input.words;
  // Few lanes keep their pointers in registers: writes of `fill` could change them in memory.
  const uint64_t* kept[kCarried > 0 ? kCarried : 1];
  for (int32_t lane = 0; lane < kCarried; ++lane) {
    kept[lane] = input.carried != nullptr ? input.carried[lane] : input.carry;
  }
  const uint64_t* const* const carried = kCarried > 0 ? kept : input.carried;
  const uint16_t* const partitions = input.partitions;
  const int shift = state.shift;
  const int32_t rows = input.rows;
  for (int32_t i = begin; i < rows; ++i) {
    const auto partition =
        kIsNamed ? uint32_t{partitions[i]} : static_cast<uint32_t>(words[i] >> 1 >> shift);
    uint64_t* const buffer = buffers + partition * stride;
    const uint32_t at = fill[partition];
    buffer[at] = words[i];
    for (int32_t lane = 0; lane < lanes; ++lane) {
      buffer[(lane + 1) * kFlushRows + at] = carried[lane][i];
    }
    fill[partition] = static_cast<uint8_t>(at + 1);
    if (HWY_UNLIKELY(at + 1 == kFlushRows)) {
      if (HWY_UNLIKELY(state.cursors[partition].room_rows == 0)) {
        *blocked = partition;
        return i + 1;
      }
      flush_into<kCarried>(state, partition);
    }
  }
  return rows;
}

template <bool kIsNamed>
int32_t scatter_as(const ScatterState& state,
                   const ScatterInput& input,
                   int32_t begin,
                   uint32_t* blocked) {
  switch (state.carried_lanes) {
    case 0:
      return scatter<0, kIsNamed>(state, input, begin, blocked);
    case 1:
      return scatter<1, kIsNamed>(state, input, begin, blocked);
    case 2:
      return scatter<2, kIsNamed>(state, input, begin, blocked);
    case 3:
      return scatter<3, kIsNamed>(state, input, begin, blocked);
    default:
      return scatter<-1, kIsNamed>(state, input, begin, blocked);
  }
}

int32_t scatter_rows(const ScatterState& state,
                     const ScatterInput& input,
                     int32_t begin,
                     uint32_t* blocked) {
  if (input.partitions != nullptr) return scatter_as<true>(state, input, begin, blocked);
  return scatter_as<false>(state, input, begin, blocked);
}

void flush_buffer(const ScatterState& state, uint32_t partition) {
  flush_into<-1>(state, partition);
}

}  // namespace crossdock::sorters::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::sorters {

HWY_EXPORT(scatter_rows);
HWY_EXPORT(flush_buffer);

int32_t scatter_rows(const ScatterState& state,
                     const ScatterInput& input,
                     int32_t begin,
                     uint32_t* blocked) {
  return HWY_DYNAMIC_DISPATCH(scatter_rows)(state, input, begin, blocked);
}
void flush_buffer(const ScatterState& state, uint32_t partition) {
  HWY_DYNAMIC_DISPATCH(flush_buffer)(state, partition);
}

}  // namespace crossdock::sorters
#endif
