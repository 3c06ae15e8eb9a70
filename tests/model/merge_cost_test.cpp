// What the model of the merge join must say, whatever its rates are.
#include "model/merge_cost.hpp"

#include <gtest/gtest.h>

namespace crossdock::model {
namespace {

constexpr int64_t kMillion = 1'000'000;

double seconds(const MergeShape& shape) {
  return merge_join_cost(shape, Machine{}, JoinRates{}, MergeRates{}).seconds();
}

MergeShape even_shape() {
  MergeShape shape;
  shape.rows[0] = shape.rows[1] = 20 * kMillion;
  shape.output_words = 2;
  shape.threads = 2;
  return shape;
}

JoinShape same_for_hash(const MergeShape& shape) {
  JoinShape hash;
  hash.build_rows = shape.rows[0];
  hash.probe_rows = shape.rows[1];
  hash.output_words = shape.output_words;
  hash.threads = shape.threads;
  return hash;
}

TEST(MergeCost, EverySortedSideMakesItCheaper) {
  const MergeShape unsorted = even_shape();
  MergeShape one = unsorted;
  one.sorted[0] = one.checked[0] = true;
  MergeShape both = one;
  both.sorted[1] = both.checked[1] = true;
  MergeShape declared = both;
  declared.checked[0] = declared.checked[1] = false;
  EXPECT_LT(seconds(one), seconds(unsorted));
  EXPECT_LT(seconds(both), seconds(one));
  EXPECT_LT(seconds(declared), seconds(both));
}

TEST(MergeCost, BeatsTheHashJoinOnSortedSidesOnly) {
  const MergeShape unsorted = even_shape();
  MergeShape sorted = unsorted;
  sorted.sorted[0] = sorted.sorted[1] = sorted.checked[0] = sorted.checked[1] = true;
  const double hash = radix_join_cost(same_for_hash(unsorted), Machine{}, JoinRates{}).seconds();
  EXPECT_LT(seconds(sorted), hash);
  EXPECT_GT(seconds(unsorted), hash);
}

TEST(MergeCost, GrowsWithRowsAndWhatKeysNeed) {
  const MergeShape shape = even_shape();
  MergeShape larger = shape;
  larger.rows[1] *= 2;
  EXPECT_GT(seconds(larger), seconds(shape));
  MergeShape strings = shape;
  strings.one_word = strings.exact = false;
  EXPECT_GT(seconds(strings), seconds(shape));
  MergeShape alone = shape;
  alone.threads = 1;
  EXPECT_DOUBLE_EQ(seconds(alone), 2 * seconds(shape));
}

TEST(MergeCost, RangesFitTheCache) {
  const Machine machine;
  EXPECT_EQ(merge_range_count(0, machine), 1);
  EXPECT_EQ(merge_range_count(1000, machine), 1);
  const int ranges = merge_range_count(40 * kMillion, machine);
  EXPECT_LE(40 * kMillion / ranges * 24, machine.l2_bytes);
  EXPECT_GT(ranges, 500);
}

TEST(MergeCost, RowsThatLieInRangesAreNotScattered) {
  MergeShape shape;
  shape.rows[0] = shape.rows[1] = 1'000'000;
  const JoinCost whole = merge_join_cost(shape, Machine(), JoinRates(), MergeRates());
  shape.partitioned = true;
  const JoinCost rest = merge_join_cost(shape, Machine(), JoinRates(), MergeRates());
  ASSERT_EQ(rest.phases.size(), 1U);
  EXPECT_EQ(rest.phases[0].name, whole.phases.back().name);
  EXPECT_DOUBLE_EQ(rest.phases[0].seconds, whole.phases.back().seconds);
}

}  // namespace
}  // namespace crossdock::model
