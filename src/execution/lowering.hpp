// From a logical plan to pipelines. What a pipeline needs of others (build sides, tables that operators sort) is run
// while it is made, so each decision sees what the data really are.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "execution/build_sink.hpp"
#include "execution/footer_aggregates.hpp"
#include "execution/late_sort.hpp"
#include "execution/pipeline.hpp"
#include "execution/probe_stage.hpp"
#include "execution/query.hpp"
#include "execution/run_record.hpp"
#include "execution/table_operators.hpp"
#include "operators/group_by/group_stream.hpp"
#include "operators/run/operator.hpp"
#include "plan/node.hpp"

namespace crossdock::execution {

// One run of one plan. Used by one thread.
class Lowering {
 public:
  Lowering(operators::OperatorRun& run,
           const operators::RunEnvironment& environment,
           const plan::Node& root,
           const Query::Options& options)
      : run_(run),
        environment_(environment),
        rules_(options.rules),
        workers_(run.team->worker_count()),
        last_(last_operator(root)),
        record_(options.measures) {
    count_uses(root);
  }

  // A pipeline that gives the rows of a node under the root. Joins and group-bys that the plan uses more than once run
  // once, into a table.
  Result<Chain> lower(const plan::Node& node);
  // The same where a limit may be left to who runs the chain.
  Result<Chain> lower_limited(const plan::Node& node);
  // All rows of a chain as a table.
  Result<TablePtr> materialise(Chain chain);
  // What has run so far.
  RunRecord& record() { return record_; }

 private:
  void count_uses(const plan::Node& node);
  Result<Chain> lower_here(const plan::Node& node);
  Result<Chain> limit_as_table(const plan::Node& node, Chain chain);
  // Notes for whom the stages work that were added since the last call.
  static void name_stages(const Chain& chain, const plan::Node& node);
  Result<Chain> lower_operation(const plan::Node& node);
  // Runs a chain for the node that is being lowered.
  Status run(Chain& chain, BlockSink& sink);
  void note(const Chain& chain, std::string sink, int64_t rows, RunRecord::Clock::time_point start);
  Result<Chain> lower_shared(const plan::Node& node);
  Result<Chain> lower_scan(const plan::Node& node);
  Result<Chain> lower_file_scan(const plan::Node& node);
  Chain lower_csv_scan(const plan::Node& node);
  Result<Chain> lower_filter(const plan::Node& node);
  Result<Chain> lower_project(const plan::Node& node);
  Result<Chain> lower_join(const plan::Node& node);
  Result<Chain> lower_group(const plan::Node& node);
  Result<Chain> lower_sort(const plan::Node& node);
  Result<Chain> sorted(const operators::SortSpec& spec, Chain chain);
  Result<Chain> sort_numbers(const plan::Node& node, const LateSourceSort& late, Chain chain);
  Result<Chain> lower_limit(const plan::Node& node);
  Result<Chain> lower_union(const plan::Node& node);
  Result<Chain> lower_window(const plan::Node& node);
  // Aggregates of whole partitions, all of them, over the rows of a table.
  Result<Chain> window_of_groups(const plan::Node& node, TablePtr table);
  Result<Chain> lower_arrived_join(const plan::Node& node);
  Result<Chain> lower_rank_filter(const plan::Node& node);

  Status add_filter(Chain& chain, const std::vector<expressions::ExpressionPtr>& conditions);
  Status add_filters(Chain& chain, const std::vector<expressions::ExpressionPtr>& conditions);
  Result<Chain> probe_join(const plan::Node& node, Chain probe, Chain build, bool build_is_left);
  // The rows of a chain as a build side takes them: with dictionaries that do not change from batch to batch.
  Result<Chain> build_side(Chain chain);
  Status add_key_filter(Chain& probe,
                        const operators::JoinSpec& keys,
                        const std::shared_ptr<const JoinTable>& table);
  // Puts a stage that drops rows by these columns before those that there are, where that spares them more than it
  // costs: `cost`, of a row, in comparisons of integers. False where it does not.
  using MakeTest = std::function<std::unique_ptr<Stage>(BlockSchema)>;
  Result<bool> add_first(Chain& chain,
                         const std::vector<int>& columns,
                         double cost,
                         const MakeTest& make);
  Result<JoinKeys> join_keys(const Chain& probe,
                             const Chain& build,
                             const operators::JoinSpec& keys);
  Status order_runs(ProbeOptions& options, const std::vector<bool>& read_of_build);
  Status run_build(Chain& build, BuildSink& sink, const JoinTable& table);
  void follow_build(Chain& probe, const Chain& build, const BuildSink& sink);
  Result<Chain> table_join(const plan::Node& node, Chain left, Chain right);
  Result<Chain> stream_groups(const operators::GroupSpec& spec, SchemaPtr schema, Chain chain);
  Result<Chain> distinct_counts(const operators::GroupSpec& spec, SchemaPtr schema, Chain chain);
  // Nothing where rows cannot be grouped as they come. Ranges that are not known are looked up.
  Result<std::unique_ptr<operators::GroupStream>> plan_stream(
      const Chain& chain,
      const operators::GroupSpec& spec,
      std::vector<operators::KeyColumnRange> ranges);
  Result<Chain> fused_group(const plan::Node& node, int64_t rows_expected);
  Result<Chain> counted_group(const plan::Node& node);
  Result<Chain> footer_group(const plan::Node& node, FooterAggregates known);
  Result<Chain> table_group(operators::GroupSpec spec, TablePtr table, int64_t rows_expected);

  operators::OperatorRun& run_;
  const operators::RunEnvironment& environment_;
  const Rules rules_;
  const int workers_;
  // Nodes that more than one other reads, and their rows once they are there.
  struct SharedRows {
    int uses = 0;
    TablePtr table;
    std::shared_ptr<const RowStore> store;
  };
  std::unordered_map<const plan::Node*, SharedRows> shared_;
  std::vector<const plan::Node*> being_lowered_;
  const plan::Node* last_;  // whose rows are the result; nullptr: none's
  RunRecord record_;
};

}  // namespace crossdock::execution
