// Plans and profiles as JSON, schema_version 1.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "session/state.hpp"

namespace crossdock {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kSchemaVersion = 1;

Json object_of(const operators::Facts& facts);

Json value_of(const operators::Fact& fact) {
  return std::visit(
      [](const auto& value) -> Json {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, operators::Facts>) {
          return object_of(value);
        } else if constexpr (std::is_same_v<Value, std::vector<operators::Facts>>) {
          Json objects = Json::array();
          for (const operators::Facts& facts : value) objects.push_back(object_of(facts));
          return objects;
        } else {
          return value;
        }
      },
      fact.value);
}

Json object_of(const operators::Facts& facts) {
  Json object = Json::object();
  for (const operators::Fact& fact : facts) object[fact.name] = value_of(fact);
  return object;
}

Json plan_object(const Operation::State& state) {
  const operators::OperatorPlan described = state.planned->describe();
  Json plan;
  plan["schema_version"] = kSchemaVersion;
  plan["operator"] = described.name;
  for (const operators::Fact& fact : described.facts) plan[fact.name] = value_of(fact);
  plan["seed"] = state.engine->seed;
  plan["phases"] = Json::array();
  for (const model::PhaseCost& phase : described.phases) {
    plan["phases"].push_back({{"name", phase.name},
                              {"rows", phase.rows},
                              {"bytes", phase.bytes},
                              {"predicted_s", phase.seconds}});
  }
  plan["considered"] = Json::array();
  for (const operators::Facts& alternative : described.considered) {
    plan["considered"].push_back(object_of(alternative));
  }
  return plan;
}

// Phases in the order they ran, each with its prediction if the model has one; then those that were
// predicted but did not run.
Json merged_phases(const operators::RunProfile& profile, const Json& predicted) {
  Json phases = Json::array();
  for (const operators::PhaseTime& measured : profile.phases) {
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

std::string plan_json(const Operation::State& state) { return plan_object(state).dump(); }

std::string profile_json(const Operation::State& state) {
  const std::lock_guard lock(state.mutex);
  const operators::RunProfile& profile = state.profile;
  Json json = plan_object(state);
  json["phases"] = merged_phases(profile, json["phases"]);
  for (const operators::Fact& fact : profile.facts) json[fact.name] = value_of(fact);
  json["result_rows"] = profile.result_rows;
  json["total_s"] = profile.total_seconds;
  json["memory_peak_bytes"] = state.engine->memory->peak_bytes();
  return json.dump();
}

}  // namespace crossdock
