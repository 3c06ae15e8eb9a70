// From a logical plan to pipelines. What a pipeline needs of others (build sides, tables that operators sort) is run
// while it is made, so each decision sees what the data really are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "execution/build_sink.hpp"
#include "execution/pipeline.hpp"
#include "operators/run/operator.hpp"
#include "plan/node.hpp"

namespace crossdock::execution {

// One run of one plan. Used by one thread.
class Lowering {
 public:
  Lowering(operators::OperatorRun& run, const operators::RunEnvironment& environment)
      : run_(run), environment_(environment), workers_(run.team->worker_count()) {}

  // A pipeline that gives the rows of the node.
  Result<Chain> lower(const plan::Node& node);
  // All rows of a chain as a table.
  Result<TablePtr> materialise(Chain chain);
  // What has been run so far, one line per pipeline, with rows and seconds.
  const std::vector<std::string>& steps() const { return steps_; }
  void note(std::string step) { steps_.push_back(std::move(step)); }

 private:
  Result<Chain> lower_scan(const plan::Node& node);
  Result<Chain> lower_filter(const plan::Node& node);
  Result<Chain> lower_project(const plan::Node& node);
  Result<Chain> lower_join(const plan::Node& node);
  Result<Chain> lower_group(const plan::Node& node);
  Result<Chain> lower_sort(const plan::Node& node);
  Result<Chain> lower_limit(const plan::Node& node);

  Status add_filters(Chain& chain, const std::vector<expressions::ExpressionPtr>& conditions);
  Result<Chain> probe_join(const plan::Node& node, Chain probe, Chain build, bool build_is_left);
  Result<JoinKeys> join_keys(const Chain& probe,
                             const Chain& build,
                             const operators::JoinSpec& keys);
  Status run_build(Chain& build, BuildSink& sink, const JoinTable& table);
  Result<Chain> table_join(const plan::Node& node, Chain left, Chain right);
  Result<Chain> stream_groups(const plan::Node& node, Chain chain);
  Result<Chain> fused_group(const plan::Node& node);
  Result<Chain> table_group(operators::GroupSpec spec, TablePtr table, int64_t rows_expected);

  operators::OperatorRun& run_;
  const operators::RunEnvironment& environment_;
  const int workers_;
  std::vector<std::string> steps_;
};

}  // namespace crossdock::execution
