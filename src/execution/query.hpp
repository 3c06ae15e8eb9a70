// A logical plan as an operator: it runs as often as wanted, with the sinks, profile and cancelling of all operators.
#pragma once

#include "execution/rules.hpp"
#include "operators/run/operator.hpp"
#include "plan/node.hpp"

namespace crossdock::execution {

class Query final : public operators::Operator {
 public:
  struct Options {
    bool measures = false;  // the profile has rows and time of each part of the pipelines
    Rules rules{};
    SchemaPtr
        written{};  // that of the plan, but that strings may have another layout; nullptr: the same
  };
  Query(plan::NodePtr plan, operators::RunEnvironment environment, Options options)
      : plan_(std::move(plan)), options_(std::move(options)) {
    environment_ = std::move(environment);
    schema_ = options_.written == nullptr ? plan_->schema : options_.written;
  }

  int worker_count() const override { return environment_.threads; }
  operators::OperatorPlan describe() const override;

 private:
  const char* what() const override { return "the query"; }
  Status run_phases(operators::OperatorRun& run) const override;

  plan::NodePtr plan_;
  Options options_;
};

}  // namespace crossdock::execution
