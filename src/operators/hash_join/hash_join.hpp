// The hash join of two tables in memory: plan once, run as often as wanted.
//
// Follows Barthels et al. (PVLDB 10(5), section 3.1) on the cores of one machine, where the network
// partition pass is the scatter and a put is a pointer. Goes beyond it: any key types, all kinds of
// join, duplicates, nulls, a residual predicate, skew, materialised output, and strategies that a
// cost model chooses among.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "operators/hash_join/join_planner.hpp"
#include "operators/hash_join/join_run.hpp"

namespace crossdock {

struct JoinEnvironment {
  std::shared_ptr<Memory> memory;
  int threads = 1;
  Machine machine;
  uint64_t seed = 0;  // of the key words; the result does not depend on it
};

class HashJoin {
 public:
  // Plans. The tables' contents have been checked on import. Errors: everything that is wrong with the
  // request, before any row is joined.
  static Result<std::unique_ptr<HashJoin>> create(JoinSpec spec,
                                                  TablePtr left,
                                                  TablePtr right,
                                                  JoinEnvironment environment);

  const SchemaPtr& schema() const { return schema_; }
  const JoinSpec& spec() const { return spec_; }
  const JoinChoice& choice() const { return choice_; }
  const KeyPlan& keys() const { return keys_; }
  int partition_bits() const { return partition_bits_; }
  int worker_count() const;
  int64_t rows(Side side) const { return stores_[static_cast<int>(side)]->rows(); }
  // What the sides would carry for the planned strategy, for `explain`.
  OutputPlan output_plan() const;

  // Runs to the end. One run at a time per HashJoin; `sink` is called from worker_count() workers,
  // of which the calling thread is one.
  Status run(JoinSink& sink,
             const CancelFlag& cancel,
             JoinProgress& progress,
             JoinProfile& profile) const;

 private:
  HashJoin() = default;
  Status prepare();
  Status run_strategy(JoinRun& run, Strategy strategy) const;
  Status run_attempt(JoinRun& run, Strategy strategy) const;
  Result<KeyLimits> scan_key_range(JoinRun& run, Side side) const;
  Status find_limits(JoinRun& run, Strategy strategy, KeyPlan& keys) const;
  bool may_be_dense(Strategy strategy) const;
  Status name_strings(JoinRun& run, KeyPlan& keys) const;
  OutputPlan plan_for(Strategy strategy, const KeyPlan& keys) const;
  int64_t batch_rows(const JoinSink& sink) const;
  Status emit_null_aware(JoinRun& run, bool& done) const;

  JoinSpec spec_;
  JoinEnvironment environment_;
  std::shared_ptr<const RowStore> stores_[2];  // by Side
  std::vector<Morsel> morsels_[2];             // by Side
  SchemaPtr schema_;
  SchemaPtr residual_schema_;
  KeyPlan keys_;
  JoinChoice choice_;
  int partition_bits_ = 0;
};

}  // namespace crossdock
