// Grouping a table in memory: plan once, run as often as wanted.
//
// Two-phase aggregation as in Leis et al. (SIGMOD 2014) and the radix partitioning of the join: see
// group_run.hpp. Integer sums never wrap and decimals are exact; what depends on the order of rows or
// on threads says so (sums of floats in "fast" mode, variances in their last bits, the row that `any`
// picks).
#pragma once

#include <memory>
#include <vector>

#include "base/result.hpp"
#include "operators/group_by/group_planner.hpp"
#include "operators/group_by/group_run.hpp"
#include "operators/group_by/group_spec.hpp"
#include "operators/run/operator.hpp"

namespace crossdock::operators {

class TableGroupBy final : public Operator {
 public:
  // Plans. Errors: everything that is wrong with the request, before any row is read.
  static Result<std::unique_ptr<TableGroupBy>> create(GroupSpec spec,
                                                      TablePtr table,
                                                      RunEnvironment environment);

  int worker_count() const override;
  OperatorPlan describe() const override;
  std::optional<int64_t> rows_expected() const override { return sample_.groups; }

 private:
  const char* what() const override { return "the group-by"; }
  Status run_phases(OperatorRun& run) const override;

  TableGroupBy() = default;
  Result<std::vector<KeyColumnRange>> scan_columns(GroupRun& run,
                                                   const char* phase,
                                                   const std::vector<int>& columns) const;
  Result<std::vector<KeyColumnRange>> key_ranges(GroupRun& run) const;
  Result<GroupKeyPlan> plan_keys(GroupRun& run) const;
  Status find_quantile_bases(GroupRun& run, AggregatePlan& plan) const;
  GroupCourse plan_course(const GroupKeyPlan& keys) const;
  Status run_groups(GroupRun& run) const;
  int64_t batch_rows(const RowSink& sink) const;

  GroupSpec spec_;
  std::shared_ptr<const RowStore> store_;
  std::vector<Morsel> morsels_;
  AggregatePlan aggregates_;
  GroupSample sample_;
  GroupChoice choice_;
};

}  // namespace crossdock::operators
