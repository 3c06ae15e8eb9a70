// Where the columns of a segment lie (PAX): behind the header the bitmaps, then one lane per column, each from a
// 64-byte boundary on. Rows of a lane lie side by side, so sorters write runs, codecs see columns, and the lanes and
// bitmaps of a received segment are Arrow's buffers as they stand.
//
// A text is an Arrow view, 16 bytes: its length, and either the text (up to 12 bytes) or its first 4 bytes, a 0, and
// where it begins in the heap, which lies behind the lanes and is shared by all columns of the segment.
//
// A plain value: a kernel takes it as an argument.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/rings/annotations.hpp"
#include "data/rings/segment_header.hpp"

namespace crossdock::rings {

inline constexpr uint32_t kSegmentLanesMax = 256;

struct SegmentLayout {
  static constexpr uint32_t kNone = 0;  // where no lane can lie: the header is there

  uint32_t rows_max = 0;
  uint32_t lane_count = 0;
  uint32_t bitmaps_end = sizeof(SegmentHeader);  // bitmaps lie from the header's end to here
  uint64_t bytes = sizeof(SegmentHeader);  // of the segment, header included; a multiple of 64
  uint32_t lane_offset[kSegmentLanesMax] = {};
  uint32_t validity_offset[kSegmentLanesMax] = {};  // kNone: no row is NULL
  uint16_t width_bytes[kSegmentLanesMax] = {};
  uint32_t heap_offset = 0;  // from the segment's begin; 64-byte aligned
  uint32_t heap_bytes = 0;   // a multiple of kHeapUnitBytes; 0: no text is longer than a view
  uint64_t text_lanes[kSegmentLanesMax / 64] = {};  // bit per lane: it holds views

  CD_HOST_DEVICE bool is_text(uint32_t lane) const {
    return (text_lanes[lane / 64] >> lane % 64 & 1) != 0;
  }
  // The values of a column of width sizeof(T). `lane` < lane_count.
  template <class T>
  CD_HOST_DEVICE T* lane(std::byte* segment, uint32_t lane) const {
    return reinterpret_cast<T*>(segment + lane_offset[lane]);
  }
  template <class T>
  CD_HOST_DEVICE const T* lane(const std::byte* segment, uint32_t lane) const {
    return reinterpret_cast<const T*>(segment + lane_offset[lane]);
  }
  // A set bit is a value, a clear one NULL; null for a column without NULLs. All bits are clear when a segment is
  // opened, and producers set those of their rows with or_bits (segment_bits.hpp), for neighbours share words.
  CD_HOST_DEVICE uint64_t* validity(std::byte* segment, uint32_t lane) const {
    const uint32_t offset = validity_offset[lane];
    return offset == kNone ? nullptr : reinterpret_cast<uint64_t*>(segment + offset);
  }
};

}  // namespace crossdock::rings
