// Write-combining in software.
#include "data/sorters/scatter_kernel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/sorters/scatter_kernel.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void stream_lane(const uint64_t* HWY_RESTRICT from, uint64_t* HWY_RESTRICT to) {
  const hn::CappedTag<uint64_t, kFlushRows> lanes;
  for (size_t i = 0; i < kFlushRows; i += hn::Lanes(lanes)) {
    hn::Stream(hn::Load(lanes, from + i), lanes, to + i);
  }
}

template <bool kHasCarry>
HWY_INLINE void flush_into(const ScatterState& state, uint32_t partition) {
  constexpr size_t kStride = kHasCarry ? 2 * kFlushRows : kFlushRows;
  const uint64_t* buffer = state.buffers + partition * kStride;
  ScatterCursor& cursor = state.cursors[partition];
  stream_lane(buffer, cursor.words);
  if (kHasCarry) stream_lane(buffer + kFlushRows, cursor.words + state.carry_offset);
  cursor.words += kFlushRows;
  cursor.room_rows -= kFlushRows;
  state.fill[partition] = 0;
}

template <bool kHasCarry, bool kIsNamed>
int32_t scatter(const ScatterState& state,
                const ScatterInput& input,
                int32_t begin,
                uint32_t* blocked) {
  constexpr size_t kStride = kHasCarry ? 2 * kFlushRows : kFlushRows;
  uint64_t* const buffers = state.buffers;
  uint8_t* const fill = state.fill;
  const uint64_t* const words = input.words;
  const uint64_t* const carry = input.carry;
  const uint16_t* const partitions = input.partitions;
  const int shift = state.shift;
  const int32_t rows = input.rows;
  for (int32_t i = begin; i < rows; ++i) {
    const auto partition =
        kIsNamed ? uint32_t{partitions[i]} : static_cast<uint32_t>(words[i] >> 1 >> shift);
    uint64_t* const buffer = buffers + partition * kStride;
    const uint32_t at = fill[partition];
    buffer[at] = words[i];
    if (kHasCarry) buffer[kFlushRows + at] = carry[i];
    fill[partition] = static_cast<uint8_t>(at + 1);
    if (HWY_UNLIKELY(at + 1 == kFlushRows)) {
      if (HWY_UNLIKELY(state.cursors[partition].room_rows == 0)) {
        *blocked = partition;
        return i + 1;
      }
      flush_into<kHasCarry>(state, partition);
    }
  }
  return rows;
}

int32_t scatter_rows(const ScatterState& state,
                     const ScatterInput& input,
                     int32_t begin,
                     uint32_t* blocked) {
  if (input.partitions != nullptr) {
    return state.carry_offset > 0 ? scatter<true, true>(state, input, begin, blocked)
                                  : scatter<false, true>(state, input, begin, blocked);
  }
  return state.carry_offset > 0 ? scatter<true, false>(state, input, begin, blocked)
                                : scatter<false, false>(state, input, begin, blocked);
}

void flush_buffer(const ScatterState& state, uint32_t partition) {
  state.carry_offset > 0 ? flush_into<true>(state, partition) : flush_into<false>(state, partition);
}

}  // namespace crossdock::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock {

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

}  // namespace crossdock
#endif
