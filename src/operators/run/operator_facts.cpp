#include "operators/run/operator_facts.hpp"

#include <algorithm>
#include <utility>

namespace crossdock::operators {
namespace {

Facts predicted_phase(const model::PhaseCost& phase) {
  return {{"name", std::string(phase.name)},
          {"rows", phase.rows},
          {"bytes", phase.bytes},
          {"predicted_s", phase.seconds}};
}

std::vector<Facts> predicted_phases(const OperatorPlan& plan) {
  std::vector<Facts> phases;
  for (const model::PhaseCost& phase : plan.phases) phases.push_back(predicted_phase(phase));
  return phases;
}

std::vector<Facts> measured_phases(const OperatorPlan& plan, const RunProfile& profile) {
  std::vector<Facts> phases;
  for (const PhaseTime& measured : profile.phases) {
    const auto predicted =
        std::find_if(plan.phases.begin(), plan.phases.end(), [&](const model::PhaseCost& phase) {
          return phase.name == measured.name;
        });
    Facts phase = predicted != plan.phases.end()
                    ? predicted_phase(*predicted)
                    : Facts{{"name", measured.name}, {"rows", measured.rows}};
    phase.push_back({"measured_s", measured.seconds});
    phases.push_back(std::move(phase));
  }
  for (const model::PhaseCost& phase : plan.phases) {
    const bool ran =
        std::any_of(profile.phases.begin(), profile.phases.end(), [&](const PhaseTime& measured) {
          return measured.name == phase.name;
        });
    if (!ran) phases.push_back(predicted_phase(phase));
  }
  return phases;
}

void set(Facts& facts, Fact fact) {
  const auto same = std::find_if(
      facts.begin(), facts.end(), [&](const Fact& known) { return known.name == fact.name; });
  if (same == facts.end()) {
    facts.push_back(std::move(fact));
  } else {
    *same = std::move(fact);
  }
}

Facts described(const OperatorPlan& plan, std::vector<Facts> phases) {
  Facts facts{{"operator", plan.name}};
  facts.insert(facts.end(), plan.facts.begin(), plan.facts.end());
  facts.push_back({"phases", std::move(phases)});
  facts.push_back({"considered", plan.considered});
  return facts;
}

}  // namespace

Facts plan_facts(const OperatorPlan& plan) { return described(plan, predicted_phases(plan)); }

Facts run_facts(const OperatorPlan& plan, const RunProfile& profile) {
  Facts facts = described(plan, measured_phases(plan, profile));
  for (const Fact& fact : profile.facts) set(facts, fact);
  set(facts, {"result_rows", profile.result_rows});
  set(facts, {"total_s", profile.total_seconds});
  return facts;
}

}  // namespace crossdock::operators
