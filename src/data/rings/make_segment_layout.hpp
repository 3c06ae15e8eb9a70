// Lays out the columns of a segment.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "data/rings/segment_layout.hpp"

namespace crossdock::rings {

inline constexpr uint32_t kSegmentAlignment = 64;
inline constexpr uint64_t kSegmentBytesMax = uint64_t{1} << 30;

struct LaneShape {
  uint16_t width_bytes = 8;  // 1, 2, 4, 8 or 16; 0 for one bit per row
  bool nullable = false;
  bool is_text = false;  // holds views, 16 bytes each
};

// heap_bytes, of all lanes of strings together, are rounded up to whole units (kHeapUnitBytes). CD-105 if a width is
// none of the above, strings have another than 16, a heap is wanted without strings, or a count or the bytes of a
// segment are over their limit, with both.
Result<SegmentLayout> make_segment_layout(std::span<const LaneShape> lanes,
                                          uint32_t rows_max,
                                          uint64_t heap_bytes = 0);

}  // namespace crossdock::rings
