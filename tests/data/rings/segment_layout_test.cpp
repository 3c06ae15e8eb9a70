// Lanes and bitmaps of segments: aligned, apart, inside; and bits that are set in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/make_segment_layout.hpp"
#include "data/rings/segment_bits.hpp"

namespace crossdock {
namespace {

using ::testing::HasSubstr;

struct Stretch {
  uint64_t from;
  uint64_t to;
};

TEST(SegmentLayout, lanes_are_aligned_and_do_not_meet) {
  const std::vector<LaneShape> lanes = {
      {8, true}, {1, false}, {0, true}, {16, false}, {2, true}, {4, false}};
  for (const uint32_t rows : {1U, 7U, 64U, 1000U}) {
    const SegmentLayout layout = make_segment_layout(lanes, rows).value();
    std::vector<Stretch> stretches = {{0, sizeof(SegmentHeader)}};
    for (uint32_t lane = 0; lane < lanes.size(); ++lane) {
      const uint64_t bitmap = (rows + 7) / 8;
      const uint64_t values =
          lanes[lane].width_bytes == 0 ? bitmap : uint64_t{lanes[lane].width_bytes} * rows;
      stretches.push_back({layout.lane_offset[lane], layout.lane_offset[lane] + values});
      if (lanes[lane].nullable) {
        stretches.push_back({layout.validity_offset[lane], layout.validity_offset[lane] + bitmap});
        EXPECT_LE(layout.validity_offset[lane] + bitmap, layout.bitmaps_end);
      }
      const bool among_bitmaps = layout.lane_offset[lane] < layout.bitmaps_end;
      EXPECT_EQ(among_bitmaps, lanes[lane].width_bytes == 0);
    }
    std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) {
      return a.from < b.from;
    });
    for (size_t at = 0; at < stretches.size(); ++at) {
      EXPECT_EQ(stretches[at].from % kSegmentAlignment, 0U);
      const uint64_t end = at + 1 < stretches.size() ? stretches[at + 1].from : layout.bytes;
      EXPECT_LE(stretches[at].to, end);
    }
  }
}

TEST(SegmentLayout, refuses_what_no_segment_can_be) {
  const LaneShape odd{.width_bytes = 3};
  EXPECT_THAT(make_segment_layout({&odd, 1}, 8).error().message, HasSubstr("3 bytes"));
  const LaneShape wide{.width_bytes = 32};
  EXPECT_FALSE(make_segment_layout({&wide, 1}, 8).ok());
  const std::vector<LaneShape> many(65);
  EXPECT_THAT(make_segment_layout(many, 8).error().message, HasSubstr("room for 64"));
  const LaneShape lane{.width_bytes = 16};
  EXPECT_FALSE(make_segment_layout({&lane, 1}, 0).ok());
  EXPECT_THAT(make_segment_layout({&lane, 1}, 1U << 30).error().message, HasSubstr("fewer rows"));
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
}  // namespace crossdock
