// Which strategy the formulas prefer where, and that they know their bounds.
#include "model/group_cost.hpp"

#include <gtest/gtest.h>

namespace crossdock::model {
namespace {

GroupShape group_shape_of(int64_t groups) {
  GroupShape shape;
  shape.rows = 50'000'000;
  shape.groups = groups;
  shape.group_bytes = 40;
  shape.threads = 2;
  return shape;
}

double table_s(const GroupShape& shape) {
  return table_group_cost(shape, Machine{}, GroupRates{}).seconds();
}
double radix_s(const GroupShape& shape) {
  return radix_group_cost(shape, Machine{}, GroupRates{}).seconds();
}

TEST(GroupCost, PrefersTablesForFewGroupsAndPartitionsForMany) {
  EXPECT_LT(table_s(group_shape_of(100)), radix_s(group_shape_of(100)));
  EXPECT_LT(table_s(group_shape_of(10'000)), radix_s(group_shape_of(10'000)));
  EXPECT_GT(table_s(group_shape_of(1'000'000)), radix_s(group_shape_of(1'000'000)));
  EXPECT_GT(table_s(group_shape_of(10'000'000)), radix_s(group_shape_of(10'000'000)));
}

TEST(GroupCost, PrefersArraysWhereKeysAreDense) {
  GroupShape shape = group_shape_of(10'000);
  shape.range_bits = 14;
  EXPECT_LT(dense_group_cost(shape, Machine{}, GroupRates{}).seconds(), table_s(shape));
}

TEST(GroupCost, PrefersTablesToArraysWhereGroupsLieApart) {
  GroupShape shape = group_shape_of(100);
  shape.range_bits = 7;
  const auto dense_s = [&] { return dense_group_cost(shape, Machine{}, GroupRates{}).seconds(); };
  EXPECT_LT(table_s(shape), dense_s());
  // Both need the ranges: an array is the quicker lookup.
  shape.packs = false;
  EXPECT_GT(table_s(shape), dense_s());
}

TEST(GroupCost, ChargesAScanOnlyForRangesThatNobodyKnows) {
  const auto scans = [](const GroupCost& cost) { return cost.phases[0].name == "scan key ranges"; };
  GroupShape shape = group_shape_of(100);
  shape.range_bits = 7;
  for (const bool known : {false, true}) {
    shape.ranges_known = known;
    shape.packs = false;
    EXPECT_EQ(scans(table_group_cost(shape, Machine{}, GroupRates{})), !known);
    EXPECT_EQ(scans(dense_group_cost(shape, Machine{}, GroupRates{})), !known);
    EXPECT_EQ(scans(radix_group_cost(shape, Machine{}, GroupRates{})), !known);
    shape.packs = true;
    EXPECT_FALSE(scans(table_group_cost(shape, Machine{}, GroupRates{})));
    EXPECT_EQ(scans(dense_group_cost(shape, Machine{}, GroupRates{})), !known);
  }
}

TEST(GroupCost, PrefersTheHeavyTableWhereFewKeysHaveMostRows) {
  GroupShape shape = group_shape_of(5'000'000);
  const auto adaptive_s = [&] {
    return adaptive_group_cost(shape, Machine{}, GroupRates{}).seconds();
  };
  EXPECT_GT(adaptive_s(), radix_s(shape));
  shape.heavy_share = 0.9;
  EXPECT_LT(adaptive_s(), radix_s(shape));
}

TEST(GroupCost, PrefersTableToHeavyTableWhereOneHoldsAll) {
  GroupShape shape = group_shape_of(100);
  shape.heavy_share = 1;
  EXPECT_LT(table_s(shape), adaptive_group_cost(shape, Machine{}, GroupRates{}).seconds());
}

TEST(GroupCost, MakesPartitionsThatFitTheCache) {
  const Machine machine;
  for (const int64_t groups : {1, 1'000, 100'000, 10'000'000, 1'000'000'000}) {
    const GroupShape shape = group_shape_of(groups);
    const int bits = group_partition_bits(shape, machine);
    EXPECT_GE(bits, 1);
    EXPECT_LE(bits, 11);
    if (groups <= 10'000'000) {
      EXPECT_LE((groups >> bits) * shape.group_bytes, machine.l2_bytes / 2);
    }
  }
}

}  // namespace
}  // namespace crossdock::model
