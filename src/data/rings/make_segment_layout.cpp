#include "data/rings/make_segment_layout.hpp"

#include <bit>

namespace crossdock::rings {
namespace {

constexpr uint32_t kWidthMax = 16;

uint64_t rounded_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

Status check_lane(const LaneShape& lane) {
  if (lane.width_bytes > kWidthMax ||
      (lane.width_bytes != 0 && !std::has_single_bit(lane.width_bytes))) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "a lane of {} bytes per row is wanted; lanes have 1, 2, 4, 8 or 16, or 0 for bits",
        lane.width_bytes);
  }
  if (lane.is_text && lane.width_bytes != kWidthMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a lane of strings of {} bytes per row is wanted; their views have {}",
                      lane.width_bytes,
                      kWidthMax);
  }
  return {};
}

Status check_bytes(std::span<const LaneShape> lanes, uint32_t rows_max, uint64_t heap_bytes) {
  uint64_t row_bits = 0;
  bool has_strings = false;
  for (const LaneShape& lane : lanes) {
    row_bits += lane.width_bytes * 8 + (lane.width_bytes == 0) + lane.nullable;
    has_strings |= lane.is_text;
  }
  if (heap_bytes != 0 && !has_strings) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a heap of {} bytes is wanted for a segment without strings; it needs none",
                      heap_bytes);
  }
  const uint64_t lane_bytes = row_bits * rows_max / 8;
  if (lane_bytes > kSegmentBytesMax || heap_bytes > kSegmentBytesMax - lane_bytes) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a segment of {} rows would have {} bytes, and {} of strings, together more "
                      "than {}; ask for fewer rows per segment, or a smaller heap",
                      rows_max,
                      lane_bytes,
                      heap_bytes,
                      kSegmentBytesMax);
  }
  return {};
}

Status check(std::span<const LaneShape> lanes, uint32_t rows_max, uint64_t heap_bytes) {
  if (lanes.size() > kSegmentLanesMax) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "a segment of {} columns is wanted, and has room for {}; send fewer columns at a time",
        lanes.size(),
        kSegmentLanesMax);
  }
  if (rows_max == 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a segment of 0 rows is wanted; it needs 1 or more");
  }
  for (const LaneShape& lane : lanes) CD_TRY(check_lane(lane));
  return check_bytes(lanes, rows_max, heap_bytes);
}

}  // namespace

Result<SegmentLayout> make_segment_layout(std::span<const LaneShape> lanes,
                                          uint32_t rows_max,
                                          uint64_t heap_bytes) {
  CD_TRY(check(lanes, rows_max, heap_bytes));
  SegmentLayout layout;
  layout.rows_max = rows_max;
  layout.lane_count = static_cast<uint32_t>(lanes.size());
  uint64_t offset = sizeof(SegmentHeader);
  const auto place = [&offset](uint64_t bytes) {
    const auto at = static_cast<uint32_t>(offset);
    offset += rounded_up(bytes, kSegmentAlignment);
    return at;
  };
  const uint64_t bitmap_bytes = (uint64_t{rows_max} + 7) / 8;
  for (uint32_t lane = 0; lane < layout.lane_count; ++lane) {
    layout.width_bytes[lane] = lanes[lane].width_bytes;
    if (lanes[lane].is_text) layout.text_lanes[lane / 64] |= uint64_t{1} << lane % 64;
    if (lanes[lane].nullable) layout.validity_offset[lane] = place(bitmap_bytes);
    if (lanes[lane].width_bytes == 0) layout.lane_offset[lane] = place(bitmap_bytes);
  }
  layout.bitmaps_end = static_cast<uint32_t>(offset);
  for (uint32_t lane = 0; lane < layout.lane_count; ++lane) {
    const uint64_t width = lanes[lane].width_bytes;
    if (width != 0) layout.lane_offset[lane] = place(width * rows_max);
  }
  layout.heap_bytes = static_cast<uint32_t>(rounded_up(heap_bytes, kHeapUnitBytes));
  layout.heap_offset = place(layout.heap_bytes);
  layout.bytes = offset;
  return layout;
}

}  // namespace crossdock::rings
