// What one run of a join shares among its phases and workers, beyond what all operators do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "operators/hash_join/emitter.hpp"
#include "operators/hash_join/prober.hpp"
#include "operators/run/operator_run.hpp"

namespace crossdock::operators {

// What a run found out beyond its times; becomes facts of the profile.
struct JoinFindings {
  std::string strategy;         // that ran; differs from the plan's if data turned out otherwise
  std::string strategy_change;  // why, or empty
  std::string key_mode;         // dense, exact or hashed words
  bool filter_used = false;
  double filter_pass_rate = -1;  // of the sample; -1 = not looked at
  bool build_unique = false;     // every build key is known to stand once
  int partitions = 1;
  std::string order[2];  // by Side, of a merge join: "sorted (detected)", "unsorted" ...
};

Facts findings_as_facts(const JoinFindings& findings);

// Both sides in partitions that are there before the run begins.
struct ArrivedSides {
  // By Side, by partition: lists of segments. Partitions without rows may be left out, on both sides alike.
  std::vector<std::vector<const sorters::SegmentList*>> parts[2];
  int64_t rows[2] = {0, 0};                                 // by Side
  std::vector<const sorters::SegmentList*> unmatchable[2];  // by Side: rows that were set aside
};

// Everything a strategy works with. Owned by HashJoin::run_phases; workers get references.
struct JoinRun : OperatorRun {
  explicit JoinRun(const OperatorRun& shared) : OperatorRun(shared) {}

  const ProbeContext* probe = nullptr;
  const OutputContext* output = nullptr;
  const OutputPlan* plan = nullptr;
  const KeyPlan* keys = nullptr;
  const JoinSpec* spec = nullptr;
  std::vector<Morsel> morsels[2];         // by Side
  int64_t rows[2] = {0, 0};               // by Side
  const ArrivedSides* arrived = nullptr;  // instead of morsels; the radix strategy's alone
  model::Machine machine;
  int partition_bits = 0;
  JoinFindings findings;
  std::vector<std::unique_ptr<Prober>> probers;    // by worker
  std::vector<std::unique_ptr<Emitter>> emitters;  // by worker

  Side build() const { return probe->build; }
  Side other() const { return probe->probe(); }
  const SchemaPtr& schema_of(Side side) const;

  // Lets all workers take turns over the morsels of a side.
  Status for_side(const char* name,
                  Side side,
                  const std::function<Status(int worker, const Morsel&)>& task) {
    return for_morsels(name, morsels[index_of(side)], task);
  }
};

// Whether rows of `side` that cannot match are part of the result.
bool keeps_unmatchable(const JoinRun& run, Side side);

// Emits rows that were set aside as unmatchable.
Status emit_unmatchable(JoinRun& run,
                        Side side,
                        const std::vector<const sorters::SegmentList*>& lists);

// Both emit every row of the result but do not flush the emitters. The dense strategy answers false if
// the build keys turned out not to be unique; nothing has been emitted then.
Status run_radix(JoinRun& run);
Status run_direct(JoinRun& run);
Result<bool> run_dense(JoinRun& run);

}  // namespace crossdock::operators
