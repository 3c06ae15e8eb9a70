// Ranges and targets by hand.
#include "data/bulk/cut_targets.hpp"

#include <gtest/gtest.h>

namespace crossdock::bulk {
namespace {

using Numbers = std::vector<uint16_t>;

TEST(CutTargets, RanksBeginWhereRangesDo) {
  const std::vector<int64_t> counts = {10, 10, 10, 10};
  const std::vector<int64_t> targets = {10, 20, 30};
  const RangeCuts cuts = cut_ranges(counts, targets, 0, 0);
  EXPECT_EQ(cuts.destination, (Numbers{0, 1, 2, 3}));
  EXPECT_TRUE(cuts.open.empty());
}

TEST(CutTargets, TheNearerEndIsTakenWithinTheTolerance) {
  const std::vector<int64_t> counts = {9, 11, 10, 10};
  const std::vector<int64_t> targets = {10, 18, 32};
  const RangeCuts cuts = cut_ranges(counts, targets, 5, 2);
  EXPECT_EQ(cuts.destination, (Numbers{5, 6, 7, 8}));  // 10 -> 9, 18 -> 20, 32 -> 30
  EXPECT_TRUE(cuts.open.empty());
}

TEST(CutTargets, ARangeStaysOpenWhereNoEndIsNear) {
  const std::vector<int64_t> counts = {5, 30, 5};
  const std::vector<int64_t> targets = {10, 20, 34};
  const RangeCuts cuts = cut_ranges(counts, targets, 0, 2);
  EXPECT_EQ(cuts.destination, (Numbers{0, 0, 3}));
  EXPECT_EQ(cuts.open_of, (std::vector<int>{-1, 0, -1}));
  ASSERT_EQ(cuts.open.size(), 1U);
  EXPECT_EQ(cuts.open[0].range, 1);
  EXPECT_EQ(cuts.open[0].first_destination, 0);
  EXPECT_EQ(cuts.open[0].targets, (std::vector<int64_t>{5, 15}));
}

TEST(CutTargets, FewRowsLeaveDestinationsEmpty) {
  const std::vector<int64_t> counts = {0, 1, 0};
  const std::vector<int64_t> targets = {0, 0, 1, 1};
  const RangeCuts cuts = cut_ranges(counts, targets, 0, 0);
  EXPECT_EQ(cuts.destination, (Numbers{0, 2, 2}));
  EXPECT_TRUE(cuts.open.empty());
}

}  // namespace
}  // namespace crossdock::bulk
