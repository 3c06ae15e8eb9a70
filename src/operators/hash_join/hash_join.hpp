// The hash join of two tables in memory: plan once, run as often as wanted.
//
// Follows Barthels et al. (PVLDB 10(5), section 3.1) on the cores of one machine, where the network
// partition pass is the scatter and a put is a pointer. Goes beyond it: any key types, all kinds of
// join, duplicates, nulls, a residual predicate, skew, materialised output, and strategies that a
// cost model chooses among.
#pragma once

#include <memory>
#include <vector>

#include "base/result.hpp"
#include "operators/hash_join/join_planner.hpp"
#include "operators/hash_join/join_run.hpp"
#include "operators/run/operator.hpp"

namespace crossdock::operators {

struct RankSides;

class HashJoin : public Operator {
 public:
  // Plans. The tables' contents have been checked on import. Errors: everything that is wrong with the
  // request, before any row is joined.
  static Result<std::unique_ptr<HashJoin>> create(JoinSpec spec,
                                                  TablePtr left,
                                                  TablePtr right,
                                                  RunEnvironment environment);
  // The join of what ranks have partitioned into this one: the radix join without its first half.
  static std::unique_ptr<HashJoin> create(std::shared_ptr<const RankSides> sides,
                                          RunEnvironment environment);

  int worker_count() const override;
  OperatorPlan describe() const override;

 private:
  const char* what() const override { return "the join"; }
  Status run_phases(OperatorRun& run) const override;

  HashJoin() = default;
  Status prepare();
  int64_t rows(Side side) const;
  Status run_strategy(JoinRun& run, Strategy strategy) const;
  Status run_attempt(JoinRun& run, Strategy strategy) const;
  Status merge(JoinRun& run) const;
  Result<KeyLimits> scan_key_range(JoinRun& run, Side side) const;
  Status find_limits(JoinRun& run, Strategy strategy, KeyPlan& keys) const;
  bool may_be_dense(Strategy strategy) const;
  Status name_strings(JoinRun& run, KeyPlan& keys) const;
  OutputPlan plan_for(Strategy strategy, const KeyPlan& keys) const;
  int64_t batch_rows(const RowSink& sink) const;
  int64_t planned_ranges() const;  // of a merge join
  Status emit_null_aware(JoinRun& run, bool& done) const;

  JoinSpec spec_;
  std::shared_ptr<const RowStore> stores_[2];  // by Side
  std::vector<Morsel> morsels_[2];             // by Side
  SchemaPtr residual_schema_;
  KeyPlan keys_;
  JoinChoice choice_;
  int partition_bits_ = 0;
  std::shared_ptr<const RankSides> sides_;  // or null: rows are in the stores
};

}  // namespace crossdock::operators
