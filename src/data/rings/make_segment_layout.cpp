// Offsets of lanes and bitmaps.
#include "data/rings/make_segment_layout.hpp"

#include <bit>

namespace crossdock {
namespace {

constexpr uint32_t kWidthMax = 16;

uint64_t aligned(uint64_t bytes) {
  return (bytes + kSegmentAlignment - 1) / kSegmentAlignment * kSegmentAlignment;
}

Status check(std::span<const LaneShape> lanes, uint32_t rows_max) {
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
  uint64_t row_bits = 0;
  for (const LaneShape& lane : lanes) {
    if (lane.width_bytes > kWidthMax ||
        (lane.width_bytes != 0 && !std::has_single_bit(lane.width_bytes))) {
      return make_error(
          ErrorCode::kInvalidArgument,
          "a lane of {} bytes per row is wanted; lanes have 1, 2, 4, 8 or 16, or 0 for bits",
          lane.width_bytes);
    }
    row_bits += lane.width_bytes * 8 + (lane.width_bytes == 0) + lane.nullable;
  }
  const uint64_t about_bytes = row_bits * rows_max / 8;
  if (about_bytes > kSegmentBytesMax) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "a segment of {} rows would have {} bytes, more than {}; ask for fewer rows per segment",
        rows_max,
        about_bytes,
        kSegmentBytesMax);
  }
  return {};
}

}  // namespace

Result<SegmentLayout> make_segment_layout(std::span<const LaneShape> lanes, uint32_t rows_max) {
  CD_TRY(check(lanes, rows_max));
  SegmentLayout layout;
  layout.rows_max = rows_max;
  layout.lane_count = static_cast<uint32_t>(lanes.size());
  uint64_t offset = sizeof(SegmentHeader);
  const auto place = [&offset](uint64_t bytes) {
    const auto at = static_cast<uint32_t>(offset);
    offset += aligned(bytes);
    return at;
  };
  const uint64_t bitmap_bytes = (uint64_t{rows_max} + 7) / 8;
  for (uint32_t lane = 0; lane < layout.lane_count; ++lane) {
    layout.width_bytes[lane] = lanes[lane].width_bytes;
    if (lanes[lane].nullable) layout.validity_offset[lane] = place(bitmap_bytes);
    if (lanes[lane].width_bytes == 0) layout.lane_offset[lane] = place(bitmap_bytes);
  }
  layout.bitmaps_end = static_cast<uint32_t>(offset);
  for (uint32_t lane = 0; lane < layout.lane_count; ++lane) {
    const uint64_t width = lanes[lane].width_bytes;
    if (width != 0) layout.lane_offset[lane] = place(width * rows_max);
  }
  layout.bytes = offset;
  return layout;
}

}  // namespace crossdock
