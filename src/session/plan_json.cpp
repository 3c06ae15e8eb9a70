// Plans and profiles as JSON, schema_version 1.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "session/state.hpp"

namespace crossdock {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kSchemaVersion = 1;

const char* side_name(Side side) { return side == Side::kLeft ? "left" : "right"; }

const char* key_name(const HashJoin& join) {
  if (join.keys().packs_exactly) return "exact64";
  const auto build = static_cast<int>(join.choice().chosen.build);
  return join.choice().few_strings[build] ? "named64" : "hashed";
}

const char* materialize_name(const HashJoin& join) {
  const OutputPlan plan = join.output_plan();
  for (const OutputField& field : plan.fields) {
    if (field.source == OutputField::Source::kGathered) return "late";
  }
  return "early";
}

Json side_json(const HashJoin& join, const ArrowTable::State& table, Side side) {
  return Json{{"rows", join.rows(side)},
              {"columns", table.table->schema->column_count()},
              {"batches", table.table->batches.size()},
              {"bytes", table_bytes(*table.table)}};
}

Json plan_object(const Join::State& state) {
  const HashJoin& join = *state.join;
  const JoinChoice& choice = join.choice();
  Json plan;
  plan["schema_version"] = kSchemaVersion;
  plan["operator"] = "hash_join";
  plan["how"] = join_kind_name(join.spec().kind);
  plan["build"] = side_name(choice.chosen.build);
  plan["build_reason"] = choice.build_reason;
  plan["strategy"] = strategy_name(choice.chosen.strategy);
  plan["strategy_reason"] = choice.strategy_reason;
  plan["key"] = key_name(join);
  plan["materialize"] = materialize_name(join);
  const bool is_partitioned = choice.chosen.strategy != Strategy::kDense;
  plan["partitions"] = is_partitioned ? 1 << join.partition_bits() : 1;
  plan["threads"] = join.worker_count();
  plan["seed"] = state.engine->seed;
  plan["left"] = side_json(join, *state.left, Side::kLeft);
  plan["right"] = side_json(join, *state.right, Side::kRight);
  for (const PhaseCost& phase : choice.chosen.cost.phases) {
    plan["phases"].push_back({{"name", phase.name},
                              {"rows", phase.rows},
                              {"bytes", phase.bytes},
                              {"predicted_s", phase.seconds}});
  }
  for (const PlannedStrategy& strategy : choice.considered) {
    plan["considered"].push_back({{"strategy", strategy_name(strategy.strategy)},
                                  {"build", side_name(strategy.build)},
                                  {"predicted_s", strategy.cost.seconds()}});
  }
  return plan;
}

// Phases in the order they ran, each with its prediction if the model has one; then those that were
// predicted but did not run.
Json merged_phases(const JoinProfile& profile, const Json& predicted) {
  Json phases = Json::array();
  for (const PhaseTime& measured : profile.phases) {
    Json phase{{"name", measured.name}, {"rows", measured.rows}};
    for (const Json& known : predicted) {
      if (known["name"] == measured.name) phase = known;
    }
    phase["measured_s"] = measured.seconds;
    phases.push_back(std::move(phase));
  }
  for (const Json& known : predicted) {
    const bool ran = std::any_of(phases.begin(), phases.end(), [&](const Json& phase) {
      return phase["name"] == known["name"];
    });
    if (!ran) phases.push_back(known);
  }
  return phases;
}

}  // namespace

std::string plan_json(const Join::State& state) { return plan_object(state).dump(); }

std::string profile_json(const Join::State& state) {
  const std::lock_guard lock(state.mutex);
  const JoinProfile& profile = state.profile;
  Json json = plan_object(state);
  json["phases"] = merged_phases(profile, json["phases"]);
  json["key_ran"] = profile.key_mode;
  json["strategy_ran"] = profile.strategy;
  if (!profile.strategy_change.empty()) json["strategy_change"] = profile.strategy_change;
  json["partitions"] = profile.partitions;
  json["result_rows"] = profile.result_rows;
  json["total_s"] = profile.total_seconds;
  json["memory_peak_bytes"] = state.engine->memory->peak_bytes();
  json["bloom"] = {{"used", profile.filter_used}, {"pass_rate", profile.filter_pass_rate}};
  json["unique_build"] = profile.build_unique;
  return json.dump();
}

}  // namespace crossdock
