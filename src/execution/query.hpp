// A logical plan as an operator: it runs as often as wanted, with the sinks, profile and cancelling of all operators.
#pragma once

#include <memory>

#include "operators/run/operator.hpp"
#include "plan/node.hpp"

namespace crossdock::execution {

class Query final : public operators::Operator {
 public:
  // `measures`: the profile has rows and time of each part of the pipelines.
  Query(plan::NodePtr plan, operators::RunEnvironment environment, bool measures = false)
      : plan_(std::move(plan)), environment_(std::move(environment)), measures_(measures) {}

  const SchemaPtr& schema() const override { return plan_->schema; }
  int worker_count() const override { return environment_.threads; }
  operators::OperatorPlan describe() const override;

 private:
  const char* what() const override { return "the query"; }
  const operators::RunEnvironment& environment() const override { return environment_; }
  Status run_phases(operators::OperatorRun& run) const override;

  plan::NodePtr plan_;
  operators::RunEnvironment environment_;
  bool measures_;
};

}  // namespace crossdock::execution
