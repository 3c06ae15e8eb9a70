// What must hold of an exchange whatever the rates are.
#include "model/exchange_cost.hpp"

#include <gtest/gtest.h>

namespace crossdock::model {
namespace {

ExchangeShape exchange_shape_of(double rows, int ranks) {
  ExchangeShape shape;
  shape.rows = rows;
  shape.ranks = ranks;
  shape.ranks_per_node = ranks;
  shape.cores_per_node = ranks;
  return shape;
}

double exchange_seconds_of(const ExchangeShape& shape, std::string_view name) {
  const PredictedCost cost = exchange_cost(shape, ExchangeRates{});
  for (const PhaseCost& phase : cost.phases) {
    if (phase.name == name) return phase.seconds;
  }
  return -1;
}

TEST(ExchangeCost, HasThePhasesThatRunsReport) {
  const PredictedCost cost = exchange_cost(exchange_shape_of(1e6, 2), ExchangeRates{});
  ASSERT_EQ(cost.phases.size(), 4u);
  EXPECT_EQ(cost.phases[0].name, "histogram");
  EXPECT_EQ(cost.phases[1].name, "window");
  EXPECT_EQ(cost.phases[2].name, "network partition");
  EXPECT_EQ(cost.phases[3].name, "imbalance");
}

TEST(ExchangeCost, RowsOfAJoinGoIntoPartitionsAndThoseOfASortAreCutFirst) {
  ExchangeShape shape = exchange_shape_of(4e6, 2);
  ExchangeRates slow;
  slow.part_row *= 2;
  const auto seconds = [&](const ExchangeRates& rates) {
    return exchange_cost(shape, rates).seconds();
  };
  EXPECT_DOUBLE_EQ(seconds(slow), seconds(ExchangeRates()));
  shape.into_partitions = true;
  EXPECT_GT(seconds(slow), seconds(ExchangeRates()));
  shape = exchange_shape_of(4e6, 2);
  const double table_s = seconds(ExchangeRates());
  shape.by_order = true;
  EXPECT_EQ(exchange_cost(shape, ExchangeRates()).phases[0].name, "cut");
  EXPECT_GT(seconds(ExchangeRates()), table_s);
}

TEST(ExchangeCost, GrowsWithRowsBytesAndRanksThatTakeTurns) {
  const ExchangeShape base = exchange_shape_of(40e6, 4);
  const double seconds = exchange_cost(base, ExchangeRates{}).seconds();
  ExchangeShape changed = base;
  changed.rows *= 2;
  EXPECT_GT(exchange_cost(changed, ExchangeRates{}).seconds(), 1.9 * seconds);
  changed = base;
  changed.wire_bytes = 8;
  EXPECT_LT(exchange_cost(changed, ExchangeRates{}).seconds(), seconds);
  changed = base;
  changed.cores_per_node = 2;
  EXPECT_NEAR(exchange_cost(changed, ExchangeRates{}).seconds() / seconds, 2, 0.05);
  changed = base;
  changed.busiest_share = 0.5;
  EXPECT_GT(exchange_cost(changed, ExchangeRates{}).seconds(), seconds);
}

// Four hosts of one rank each: three quarters of a rank's rows leave over its link.
TEST(ExchangeCost, IsBoundByLinksWhereTheyAreSlower) {
  ExchangeShape shape = exchange_shape_of(4e6, 4);
  shape.ranks_per_node = 1;
  shape.node_bytes_per_s = 125e6;
  EXPECT_DOUBLE_EQ(exchange_seconds_of(shape, "network partition"), 1e6 * 16 * 0.75 / 125e6);
  shape.wire_bytes = 8;  // packing halves it
  EXPECT_DOUBLE_EQ(exchange_seconds_of(shape, "network partition"), 1e6 * 8 * 0.75 / 125e6);
  shape.busiest_share = 0.5;  // and one rank that gets half of all rows doubles it
  EXPECT_DOUBLE_EQ(exchange_seconds_of(shape, "network partition"), 2e6 * 8 * 0.75 / 125e6);
  shape.node_bytes_per_s = 1e15;
  EXPECT_DOUBLE_EQ(exchange_seconds_of(shape, "network partition"), [&] {
    ExchangeShape near = shape;
    near.node_bytes_per_s = 0;
    return exchange_seconds_of(near, "network partition");
  }());
}

}  // namespace
}  // namespace crossdock::model
