// Lanes and bitmaps of segments: aligned, apart, inside; and bits that are set in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/make_segment_layout.hpp"
#include "data/rings/segment_bits.hpp"

namespace crossdock::rings {
namespace {

using ::testing::HasSubstr;

struct LaneBytes {
  uint64_t from;
  uint64_t to;
};

TEST(SegmentLayout, lanes_are_aligned_and_do_not_meet) {
  const std::vector<LaneShape> lanes = {
      {8, true}, {1, false}, {0, true}, {16, false}, {2, true}, {4, false}};
  for (const uint32_t rows : {1U, 7U, 64U, 1000U}) {
    const SegmentLayout layout = make_segment_layout(lanes, rows).value();
    std::vector<LaneBytes> ranges = {{0, sizeof(SegmentHeader)}};
    for (uint32_t lane = 0; lane < lanes.size(); ++lane) {
      const uint64_t bitmap = (rows + 7) / 8;
      const uint64_t values =
          lanes[lane].width_bytes == 0 ? bitmap : uint64_t{lanes[lane].width_bytes} * rows;
      ranges.push_back({layout.lane_offset[lane], layout.lane_offset[lane] + values});
      if (lanes[lane].nullable) {
        ranges.push_back({layout.validity_offset[lane], layout.validity_offset[lane] + bitmap});
        EXPECT_LE(layout.validity_offset[lane] + bitmap, layout.bitmaps_end);
      }
      const bool among_bitmaps = layout.lane_offset[lane] < layout.bitmaps_end;
      EXPECT_EQ(among_bitmaps, lanes[lane].width_bytes == 0);
    }
    std::sort(ranges.begin(), ranges.end(), [](const LaneBytes& a, const LaneBytes& b) {
      return a.from < b.from;
    });
    for (size_t at = 0; at < ranges.size(); ++at) {
      EXPECT_EQ(ranges[at].from % kSegmentAlignment, 0U);
      const uint64_t end = at + 1 < ranges.size() ? ranges[at + 1].from : layout.bytes;
      EXPECT_LE(ranges[at].to, end);
    }
  }
}

TEST(SegmentLayout, refuses_what_no_segment_can_be) {
  const LaneShape odd{.width_bytes = 3};
  EXPECT_THAT(make_segment_layout({&odd, 1}, 8).error().message, HasSubstr("3 bytes"));
  const LaneShape wide{.width_bytes = 32};
  EXPECT_FALSE(make_segment_layout({&wide, 1}, 8).ok());
  const std::vector<LaneShape> many(257);
  EXPECT_THAT(make_segment_layout(many, 8).error().message, HasSubstr("room for 256"));
  const LaneShape lane{.width_bytes = 16};
  EXPECT_FALSE(make_segment_layout({&lane, 1}, 0).ok());
  EXPECT_THAT(make_segment_layout({&lane, 1}, 1U << 30).error().message, HasSubstr("fewer rows"));
  EXPECT_THAT(make_segment_layout({&lane, 1}, 8, 64).error().message, HasSubstr("without strings"));
  const LaneShape short_view{.width_bytes = 8, .is_text = true};
  EXPECT_THAT(make_segment_layout({&short_view, 1}, 8).error().message,
              HasSubstr("their views have 16"));
  const LaneShape text{.width_bytes = 16, .is_text = true};
  EXPECT_THAT(make_segment_layout({&text, 1}, 8, kSegmentBytesMax).error().message,
              HasSubstr("smaller heap"));
}

TEST(SegmentLayout, the_heap_lies_behind_the_lanes) {
  const std::vector<LaneShape> lanes = {{8, true}, {16, true, true}, {0, false}, {16, false, true}};
  const SegmentLayout layout = make_segment_layout(lanes, 100, 1001).value();
  EXPECT_EQ(layout.heap_bytes, 1008U) << "whole units";
  EXPECT_EQ(layout.heap_offset % kSegmentAlignment, 0U);
  EXPECT_GE(layout.heap_offset, layout.lane_offset[3] + 100 * 16);
  EXPECT_GE(layout.bytes, layout.heap_offset + layout.heap_bytes);
  EXPECT_LT(layout.bytes, layout.heap_offset + layout.heap_bytes + kSegmentAlignment);
  for (uint32_t lane = 0; lane < lanes.size(); ++lane)
    EXPECT_EQ(layout.is_text(lane), lanes[lane].is_text);
  const SegmentLayout packed = make_segment_layout(lanes, 3).value();
  EXPECT_EQ(packed.heap_bytes, 0U) << "strings may all lie in their views";
}

TEST(SegmentLayout, the_last_of_many_lanes_is_like_the_others) {
  std::vector<LaneShape> lanes(kSegmentLanesMax, {.width_bytes = 1});
  lanes.back() = {.width_bytes = 16, .nullable = true, .is_text = true};
  const SegmentLayout layout = make_segment_layout(lanes, 10, 160).value();
  EXPECT_TRUE(layout.is_text(kSegmentLanesMax - 1));
  EXPECT_FALSE(layout.is_text(kSegmentLanesMax - 2));
  EXPECT_GE(layout.heap_offset, layout.lane_offset[kSegmentLanesMax - 1] + 160);
}

TEST(SegmentBits, sets_its_rows_and_no_others) {
  for (const uint64_t first : {0, 1, 63, 64, 100}) {
    for (const uint64_t count : {0, 1, 2, 63, 64, 65, 130}) {
      uint64_t bitmap[5] = {};
      bitmap[0] |= first > 0 ? 1 : 0;  // a neighbour's row
      set_bits<CpuRingTraits>(bitmap, first, count);
      for (uint64_t row = 0; row < 320; ++row) {
        const bool set = (bitmap[row / 64] >> row % 64 & 1) != 0;
        EXPECT_EQ(set, (row >= first && row < first + count) || (row == 0 && first > 0))
            << first << " " << count;
      }
    }
  }
}

TEST(SegmentBits, takes_only_count_bits) {
  uint64_t bitmap[2] = {};
  or_bits<CpuRingTraits>(bitmap, 62, 4, 0b11'1101);
  EXPECT_EQ(bitmap[0], uint64_t{0b01} << 62);
  EXPECT_EQ(bitmap[1], 0b11U);
}

}  // namespace
}  // namespace crossdock::rings
