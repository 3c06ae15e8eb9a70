// Exact counts of distinct values, values that most rows have, and entropies, made of group-bys: the
// distinct (keys, value) pairs first, which spread over all workers even where there is one group, then
// their number per group, the one of most rows, or how evenly rows spread over them. The other aggregates
// are grouped on their own, and a last group-by by key brings all columns together.
#pragma once

#include <memory>

#include "operators/group_by/group_by.hpp"

namespace crossdock::operators {

// The operator that answers `spec`: a TableGroupBy, or one with distinct counts around several.
Result<std::unique_ptr<Operator>> plan_group_by(GroupSpec spec,
                                                TablePtr table,
                                                RunEnvironment environment);

class DistinctGroupBy final : public Operator {
 public:
  // `spec` has a function that is_of_values.
  static Result<std::unique_ptr<DistinctGroupBy>> create(GroupSpec spec,
                                                         TablePtr table,
                                                         RunEnvironment environment);

  int worker_count() const override { return main_->worker_count(); }
  OperatorPlan describe() const override;
  std::optional<int64_t> rows_expected() const override { return main_->rows_expected(); }

 private:
  const char* what() const override { return "the group-by"; }
  // The runs within this one have teams of their own.
  int team_size(const RowSink&) const override { return 1; }
  Status run_phases(OperatorRun& run) const override;

  struct Stage;
  struct DistinctColumn {
    AggregateFunction function;
    int column;
    int filter;
    friend bool operator==(const DistinctColumn&, const DistinctColumn&) = default;
  };

  DistinctGroupBy() = default;
  Result<TablePtr> look_at_values(const DistinctColumn& distinct, const Stage& stage) const;
  Result<TablePtr> unite(const Table& main, const std::vector<TablePtr>& counts) const;
  GroupSpec final_spec() const;

  GroupSpec spec_;
  TablePtr table_;
  std::vector<DistinctColumn> distincts_;
  std::vector<int> others_;             // aggregates that are not of values
  std::unique_ptr<TableGroupBy> main_;  // keys and the other aggregates
};

}  // namespace crossdock::operators
