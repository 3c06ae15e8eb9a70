// Where the columns of a segment lie (PAX): behind the header the bitmaps, then one lane per column, each from a
// 64-byte boundary on. Rows of a lane lie side by side, so sorters write runs, codecs see columns, and the lanes and
// bitmaps of a received segment are Arrow's buffers as they stand.
//
// A plain value: a kernel takes it as an argument. Columns of variable width (text) have no lanes yet; a segment holds
// columns of fixed width, booleans as bits, and the validity of each that may be NULL.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/rings/annotations.hpp"
#include "data/rings/segment_header.hpp"

namespace crossdock {

inline constexpr uint32_t kSegmentLanesMax = 64;

struct SegmentLayout {
  static constexpr uint32_t kNone = 0;  // where no lane can lie: the header is there

  uint32_t rows_max = 0;
  uint32_t lane_count = 0;
  uint32_t bitmaps_end = sizeof(SegmentHeader);  // bitmaps lie from the header's end to here
  uint64_t bytes = sizeof(SegmentHeader);  // of the segment, header included; a multiple of 64
  uint32_t lane_offset[kSegmentLanesMax] = {};
  uint32_t validity_offset[kSegmentLanesMax] = {};  // kNone: no row is NULL
  uint16_t width_bytes[kSegmentLanesMax] = {};

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

}  // namespace crossdock
