#include "sim/rank_rates.hpp"

#include <algorithm>

#include "model/exchange_cost.hpp"
#include "model/join_cost.hpp"
#include "model/merge_cost.hpp"

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

double seconds_of(const model::PredictedCost& cost, std::string_view name) {
  double seconds = 0;
  for (const model::PhaseCost& phase : cost.phases) {
    if (phase.name == name) seconds += phase.seconds;
  }
  return seconds;
}

int64_t whole_rows(double rows) { return static_cast<int64_t>(std::max(1.0, rows)); }

int payload_words(const ModelledJoin& join) {
  constexpr double kWord = 8;
  const double words = (join.build_row_bytes + join.probe_row_bytes) / kWord - 2;
  return static_cast<int>(std::max(0.0, words));
}

// What rows cost that go to other ranks; what a collective, a window and a message cost is simulated apart.
void add_exchange(const model::Rates& rates, const ModelledJoin& join, RankRates& result) {
  model::ExchangeRates moving = rates.exchange;
  moving.collective = moving.put_message = moving.window_open = 0;
  model::ExchangeShape shape;
  shape.ranks = join.ranks;
  shape.ranks_per_node = shape.cores_per_node = join.ranks;
  shape.into_partitions = !join.is_broadcast;
  // Of a broadcast each row comes to every rank.
  const double build = join.rows.build * join.ranks;
  const double probe = join.rows.probe * join.ranks;
  shape.rows = join.is_broadcast ? build * join.ranks : build + probe;
  shape.row_bytes =
      join.is_broadcast
          ? join.build_row_bytes
          : (build * join.build_row_bytes + probe * join.probe_row_bytes) / (build + probe);
  shape.wire_bytes = shape.row_bytes;
  const model::PredictedCost cost = exchange_cost(shape, moving);
  result.join.scan = rate_of(cost, "histogram", kRowsPerNs / rates.exchange.part_count);
  result.join.partition = rate_of(cost, "network partition", kRowsPerNs / rates.exchange.part_row);
  if (join.is_broadcast) result.to_all_s = seconds_of(cost, "network partition");
  result.window_s = rates.exchange.window_open / kRowsPerNs + seconds_of(cost, "window");
  result.imbalance_s = seconds_of(cost, "imbalance");
}

// Rows that went into partitions are not partitioned again; those of a broadcast are, as those of one process.
void add_hash_join(const model::Rates& rates,
                   const model::Machine& machine,
                   const ModelledJoin& join,
                   RankRates& result) {
  model::JoinShape shape;
  shape.build_rows = whole_rows(join.rows.build * (join.is_broadcast ? join.ranks : 1));
  shape.probe_rows = whole_rows(join.rows.probe);
  shape.partitioned = true;
  shape.output_words = payload_words(join);
  const model::JoinCost cost = radix_join_cost(shape, machine, rates.join);
  result.join.build = rate_of(cost, "build tables", result.join.build);
  result.join.probe = rate_of(cost, "probe and emit", result.join.probe);
  if (!join.is_broadcast) return;
  result.passes = 2;
  result.join.partition = kRowsPerNs / rates.join.scatter;
}

void add_merge_join(const model::Rates& rates,
                    const model::Machine& machine,
                    const ModelledJoin& join,
                    RankRates& result) {
  model::MergeShape shape;
  shape.rows[0] = whole_rows(join.rows.probe);
  shape.rows[1] = whole_rows(join.rows.build * (join.is_broadcast ? join.ranks : 1));
  shape.partitioned = true;
  shape.output_words = payload_words(join);
  const model::JoinCost cost = merge_join_cost(shape, machine, rates.join, rates.merge);
  result.join.merge = rate_of(cost, "sort and match", result.join.merge);
  result.sorts_what_came = true;
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
                          const ModelledJoin& join) {
  RankRates result;
  result.collective_s = rates.exchange.collective / kRowsPerNs;
  result.message_s = rates.exchange.put_message / kRowsPerNs;
  add_exchange(rates, join, result);
  if (join.kind == JoinKind::kHash) {
    add_hash_join(rates, machine, join, result);
  } else {
    add_merge_join(rates, machine, join, result);
  }
  return result;
}

Status check_rates(JoinKind kind, const RankRates& rates) {
  const bool is_hash = kind == JoinKind::kHash;
  for (const double rate : {rates.join.scan,
                            rates.join.partition,
                            is_hash ? rates.join.build : rates.join.sort_run,
                            is_hash ? rates.join.probe : rates.join.merge}) {
    if (rate > 0) continue;
    return make_error(ErrorCode::kInvalidArgument,
                      "a rank does {} rows/s in a phase of the join, which never ends: give all "
                      "rates that it uses, each above 0",
                      rate);
  }
  return {};
}

RankSeconds rank_seconds(JoinKind kind, const RankRates& rates, RankRows sent, RankRows received) {
  RankSeconds seconds;
  if (kind == JoinKind::kMerge && rates.sorts_what_came) {
    const auto phase = [](std::string_view name, double rows, double rate) {
      return model::PhaseCost{name, static_cast<int64_t>(rows), 0, rows / rate};
    };
    seconds.before = phase("histogram", sent.all(), rates.join.scan);
    seconds.arranging_s = sent.all() / rates.join.partition;
    seconds.after = {phase("sort and match", received.all(), rates.join.merge)};
    return seconds;
  }
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
