// Plans and profiles as JSON, schema_version 1.
#include <nlohmann/json.hpp>

#include "operators/run/operator_facts.hpp"
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

Json headed(const Operation::State& state, const operators::Facts& facts) {
  Json json{{"schema_version", kSchemaVersion}};
  for (const operators::Fact& fact : facts) json[fact.name] = value_of(fact);
  json["seed"] = state.engine->seed;
  return json;
}

}  // namespace

std::string plan_json(const Operation::State& state) {
  return headed(state, operators::plan_facts(state.planned->describe())).dump();
}

std::string profile_json(const Operation::State& state) {
  const std::lock_guard lock(state.mutex);
  Json json = headed(state, operators::run_facts(state.planned->describe(), state.profile));
  json["memory_peak_bytes"] = state.engine->memory->peak_bytes();
  return json.dump();
}

}  // namespace crossdock
