// A planned hash join, and what a run of it found out, as facts.
#include <algorithm>

#include "model/merge_cost.hpp"
#include "operators/hash_join/hash_join.hpp"

namespace crossdock::operators {
namespace {

const char* side_name(Side side) { return side == Side::kLeft ? "left" : "right"; }

Facts side_facts(const RowStore& store) {
  int64_t bytes = 0;
  for (const Batch& batch : store.batches()) bytes += buffer_bytes(batch);
  return {{"rows", store.rows()},
          {"columns", int64_t{store.schema()->column_count()}},
          {"batches", static_cast<int64_t>(store.batches().size())},
          {"bytes", bytes}};
}

bool gathers_any(const OutputPlan& plan) {
  for (const OutputField& field : plan.fields) {
    if (field.source == OutputField::Source::kGathered) return true;
  }
  return false;
}

const char* order_text(SeenOrder order) {
  switch (order) {
    case SeenOrder::kDeclared:
      return "sorted (declared)";
    case SeenOrder::kSampled:
      return "sorted (detected in a sample)";
    case SeenOrder::kUnsorted:
      return "unsorted";
    default:
      return "looked at when it runs";
  }
}

}  // namespace

int64_t HashJoin::planned_ranges() const {
  const int ranges =
      spec_.partition_bits >= 0
          ? 1 << spec_.partition_bits
          : model::merge_range_count(rows(Side::kLeft) + rows(Side::kRight), environment_.machine);
  return std::min(ranges, model::kMergeRangesMax);
}

OperatorPlan HashJoin::describe() const {
  const PlannedStrategy& chosen = choice_.chosen;
  const bool named = choice_.few_strings[index_of(chosen.build)];
  const bool late = gathers_any(plan_for(chosen.strategy, keys_));
  const bool is_merge = chosen.strategy == Strategy::kMerge;
  const char* key = keys_.packs_exactly ? "exact64" : (named ? "named64" : "hashed");
  int64_t partitions = int64_t{1} << partition_bits_;
  if (chosen.strategy == Strategy::kDense) partitions = 1;
  if (is_merge) partitions = planned_ranges();
  OperatorPlan plan;
  plan.name = is_merge ? "merge_join" : "hash_join";
  plan.facts = {{"how", join_kind_name(spec_.kind)},
                {"build", is_merge ? "none" : side_name(chosen.build)},
                {"build_reason", choice_.build_reason},
                {"strategy", strategy_name(chosen.strategy)},
                {"strategy_reason", choice_.strategy_reason},
                {"key", is_merge ? "ordered" : key},
                {"materialize", late ? "late" : "early"},
                {"partitions", partitions},
                {"threads", int64_t{worker_count()}},
                {"left", side_facts(*stores_[0])},
                {"right", side_facts(*stores_[1])}};
  if (is_merge) {
    plan.facts.push_back({"left_order", order_text(choice_.order[0])});
    plan.facts.push_back({"right_order", order_text(choice_.order[1])});
  }
  plan.phases = chosen.cost.phases;
  for (const PlannedStrategy& strategy : choice_.considered) {
    plan.considered.push_back(
        {{"strategy", strategy_name(strategy.strategy)},
         {"build", strategy.strategy == Strategy::kMerge ? "none" : side_name(strategy.build)},
         {"predicted_s", strategy.cost.seconds()}});
  }
  return plan;
}

Facts findings_as_facts(const JoinFindings& findings) {
  Facts facts = {{"key_ran", findings.key_mode}, {"strategy_ran", findings.strategy}};
  if (!findings.strategy_change.empty()) {
    facts.push_back({"strategy_change", findings.strategy_change});
  }
  facts.push_back({"partitions", int64_t{findings.partitions}});
  facts.push_back(
      {"bloom", Facts{{"used", findings.filter_used}, {"pass_rate", findings.filter_pass_rate}}});
  facts.push_back({"unique_build", findings.build_unique});
  for (const int side : {0, 1}) {
    if (findings.order[side].empty()) continue;
    facts.push_back({side == 0 ? "left_order" : "right_order", findings.order[side]});
  }
  return facts;
}

}  // namespace crossdock::operators
