// Rates of ranks that are processes of this machine: what the models that plan real joins say of them.
#include "sim/rank_rates.hpp"

#include <gtest/gtest.h>

#include "model/exchange_cost.hpp"
#include "model/join_cost.hpp"
#include "model/merge_cost.hpp"

namespace crossdock::sim {
namespace {

constexpr RankRows kRows{2e6, 6e6};

ModelledJoin join_of(JoinKind kind, int ranks = 2) {
  ModelledJoin join;
  join.kind = kind;
  join.rows = kRows;
  join.ranks = ranks;
  return join;
}

RankSeconds seconds_of(const ModelledJoin& join, RankRows received = kRows) {
  const RankRates rates = rates_of_models({}, {}, join);
  return rank_seconds(join.kind, rates, join.rows, received);
}

double after(const RankSeconds& seconds, std::string_view name) {
  for (const model::PhaseCost& phase : seconds.after) {
    if (phase.name == name) return phase.seconds;
  }
  ADD_FAILURE() << "no phase " << name;
  return 0;
}

double phase_of(const model::PredictedCost& cost, std::string_view name) {
  for (const model::PhaseCost& phase : cost.phases) {
    if (phase.name == name) return phase.seconds;
  }
  ADD_FAILURE() << "no phase " << name;
  return 0;
}

model::PredictedCost exchange_of(int ranks) {
  model::ExchangeShape shape;
  shape.rows = kRows.all() * ranks;
  shape.ranks = shape.ranks_per_node = shape.cores_per_node = ranks;
  shape.into_partitions = true;
  model::ExchangeRates rates;
  rates.collective = rates.put_message = 0;  // simulated by the rounds and messages that there are
  return exchange_cost(shape, rates);
}

TEST(RankRates, OfModelsTakeWhatThePlannerSaysOfAHashJoin) {
  const RankSeconds seconds = seconds_of(join_of(JoinKind::kHash));
  const model::PredictedCost exchange = exchange_of(2);
  EXPECT_NEAR(seconds.before.seconds, phase_of(exchange, "histogram"), 1e-9);
  EXPECT_NEAR(seconds.arranging_s, phase_of(exchange, "network partition"), 1e-9);
  model::JoinShape shape;
  shape.build_rows = static_cast<int64_t>(kRows.build);
  shape.probe_rows = static_cast<int64_t>(kRows.probe);
  shape.partitioned = true;
  shape.output_words = 2;  // the payloads of both sides
  const model::JoinCost local = radix_join_cost(shape, {}, {});
  EXPECT_NEAR(after(seconds, "build"), phase_of(local, "build tables"), 1e-9);
  EXPECT_NEAR(after(seconds, "probe"), phase_of(local, "probe and emit"), 1e-9);
  const RankRates rates = rates_of_models({}, {}, join_of(JoinKind::kHash));
  EXPECT_NEAR(rates.imbalance_s,
              model::ExchangeRates{}.imbalance_share *
                  (exchange.seconds() - phase_of(exchange, "imbalance") -
                   model::ExchangeRates{}.window_open * 1e-9),
              1e-9);
  EXPECT_NEAR(rates.window_s, phase_of(exchange, "window"), 1e-9);
}

TEST(RankRates, OfModelsSortWhatCameOfAMergeJoin) {
  const RankSeconds seconds = seconds_of(join_of(JoinKind::kMerge));
  EXPECT_NEAR(seconds.arranging_s, phase_of(exchange_of(2), "network partition"), 1e-9);
  model::MergeShape shape;
  shape.rows[0] = static_cast<int64_t>(kRows.probe);
  shape.rows[1] = static_cast<int64_t>(kRows.build);
  shape.partitioned = true;
  shape.output_words = 2;
  const model::JoinCost local = merge_join_cost(shape, {}, {}, {});
  ASSERT_EQ(seconds.after.size(), 1u);
  EXPECT_NEAR(after(seconds, "sort and match"), phase_of(local, "sort and match"), 1e-9);
}

// The more ranks there are, the more of the rows go to others.
TEST(RankRates, OfModelsSendMoreToMoreRanks) {
  for (const JoinKind kind : {JoinKind::kHash, JoinKind::kMerge}) {
    const double two = seconds_of(join_of(kind, 2)).arranging_s;
    const double four = seconds_of(join_of(kind, 4)).arranging_s;
    const double byte_s = model::ExchangeRates{}.put_byte * 1e-9;
    EXPECT_NEAR(four - two, kRows.all() * 16 * (3.0 / 4 - 1.0 / 2) * byte_s, 1e-9);
  }
}

TEST(RankRates, OfModelsPartitionWhatABroadcastBrought) {
  ModelledJoin join = join_of(JoinKind::kHash);
  join.is_broadcast = true;
  const RankRows received{2 * kRows.build, kRows.probe};
  const RankRates rates = rates_of_models({}, {}, join);
  EXPECT_GT(rates.to_all_s, 0);
  const RankSeconds seconds = seconds_of(join, received);
  EXPECT_NEAR(
      after(seconds, "local partition"), received.all() * model::JoinRates{}.scatter * 1e-9, 1e-9);
  EXPECT_EQ(rates_of_models({}, {}, join_of(JoinKind::kHash)).to_all_s, 0);
}

}  // namespace
}  // namespace crossdock::sim
