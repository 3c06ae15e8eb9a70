// The models' phases, sorted by where they stand around the exchange.
#include "sim/rank_rates.hpp"

#include <algorithm>

#include "model/exchange_cost.hpp"
#include "model/join_cost.hpp"

namespace crossdock::sim {
namespace {

constexpr double kRowsPerNs = 1e9;

double rate_of(const model::PredictedCost& cost, std::string_view name, double otherwise) {
  for (const model::PhaseCost& phase : cost.phases) {
    if (phase.name == name && phase.seconds > 0)
      return static_cast<double>(phase.rows) / phase.seconds;
  }
  return otherwise;
}

model::PredictedCost model_cost(JoinKind kind, const RankRates& rates, RankRows rows) {
  model::RankJoinShape shape;
  shape.inner_rows = rows.build;
  shape.outer_rows = rows.probe;
  shape.ranks = 1;
  shape.passes = rates.passes;
  shape.inner_merges = shape.outer_merges = rates.merges;
  return kind == JoinKind::kHash ? rank_hash_join_cost(shape, rates.join, {}, {})
                                 : rank_merge_join_cost(shape, rates.join, {}, {});
}

}  // namespace

RankRates rates_of_models(const model::Rates& rates,
                          const model::Machine& machine,
                          double build_rows,
                          double probe_rows) {
  model::JoinShape shape;
  shape.build_rows = static_cast<int64_t>(std::max(1.0, build_rows));
  shape.probe_rows = static_cast<int64_t>(std::max(1.0, probe_rows));
  shape.partitioned = true;
  const model::JoinCost local = radix_join_cost(shape, machine, rates.join);
  RankRates result;
  result.join.scan = kRowsPerNs / rates.exchange.part_count;
  result.join.partition = kRowsPerNs / rates.exchange.part_row;
  result.join.build = rate_of(local, "build tables", result.join.build);
  result.join.probe = rate_of(local, "probe and emit", result.join.probe);
  result.join.sort_run = kRowsPerNs / rates.merge.sort_pair;
  result.join.merge = kRowsPerNs / (rates.merge.match + rates.merge.read_sorted);
  result.merges = 0;  // ranges are sorted in cache, where they arrive
  result.collective_s = rates.exchange.collective / kRowsPerNs;
  result.window_s = rates.exchange.window_open / kRowsPerNs;
  result.message_s = rates.exchange.put_message / kRowsPerNs;
  return result;
}

RankSeconds rank_seconds(JoinKind kind, const RankRates& rates, RankRows sent, RankRows received) {
  RankSeconds seconds;
  const std::string_view before = kind == JoinKind::kHash ? "histogram" : "partition";
  const std::string_view arranging = kind == JoinKind::kHash ? "network partition" : "sort";
  for (const model::PhaseCost& phase : model_cost(kind, rates, sent).phases) {
    if (phase.name == before) seconds.before = phase;
    if (phase.name == arranging) seconds.arranging_s = phase.seconds;
  }
  for (model::PhaseCost phase : model_cost(kind, rates, received).phases) {
    if (phase.name == before || phase.name == arranging) continue;
    // These read rows from memory as they came; others work in cache.
    if (phase.name == "local partition" || phase.name == "match")
      phase.seconds = std::max(0.0, phase.seconds - received.all() * rates.narrower_s);
    seconds.after.push_back(phase);
  }
  return seconds;
}

}  // namespace crossdock::sim
