// What happens to candidate pairs: verify (hashed keys), residual predicate, mark both sides, emit.
// One prober per worker; it does not know which strategy made the table.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "operators/hash_join/emitter.hpp"
#include "operators/hash_join/probe_kernels.hpp"
#include "operators/hash_join/residual.hpp"
#include "operators/hash_join/slot_counts.hpp"
#include "table/row_compare.hpp"

namespace crossdock::operators {

// What all probers of a join share. Immutable while they run.
struct ProbeContext {
  const JoinSpec* spec = nullptr;
  const KeyPlan* keys = nullptr;
  const OutputContext* output = nullptr;
  Side build = Side::kRight;
  JoinRoles roles;
  const RowComparer* comparer = nullptr;    // hashed keys only; left and right of the join
  const ResidualCheck* residual = nullptr;  // nullptr = none
  const CancelFlag* cancel = nullptr;

  Side probe() const { return opposite(build); }
};

// The table a block is probed against; exactly one of the three is set.
struct ProbeTarget {
  const RunTable* runs = nullptr;
  const DenseTable* dense = nullptr;
  const SlotCounts* counts =
      nullptr;  // only if counts_by_word(), and nothing tracks the build side
  FindOptions options;
  uint8_t* matched = nullptr;  // by position; set if the build side is tracked
};

class Prober {
 public:
  Prober(const ProbeContext& context, Emitter& emitter);

  Emitter& emitter() { return *emitter_; }

  // Rows are only counted, and equal words are equal keys.
  bool counts_by_word() const { return counts_by_word_; }

  // Probes a block and emits what it gives.
  Status probe(const ProbeTarget& target, const ProbeBlock& block);

  // Emits `rows` rows of one side alone (their partner's columns are null).
  Status emit_alone(Side side, int32_t rows, const uint64_t* words, const uint64_t* carry);

  // Emits the build rows [begin, end) of a table that were matched, or were not. Call when every
  // probe row has passed.
  Status emit_build_rows(const ProbeTarget& target, int64_t begin, int64_t end, bool matched);

 private:
  struct Scratch;

  FindOptions options_for(const ProbeTarget& target) const;
  Status probe_runs(const ProbeTarget& target, const ProbeBlock& block);
  void count_partners(const SlotCounts& slots, const ProbeBlock& block);
  Status count_one_word(const ProbeTarget& target, const ProbeBlock& block);
  void find_runs(const ProbeTarget& target, const ProbeBlock& block);
  Status take_pairs(const ProbeTarget& target, const ProbeBlock& block);
  void load_refs(const ProbeTarget& target, const ProbeBlock& block);
  Status verify();
  Status apply_residual();
  void keep_pairs(const uint32_t* selected, int32_t count);
  Status emit_pairs(const ProbeTarget& target, const ProbeBlock& block);
  void load_build_carry(const ProbeTarget& target);
  Status emit_probe_rows(const ProbeBlock& block);

  const ProbeContext* context_;
  Emitter* emitter_;
  bool first_match_suffices_ = false;  // semi and anti joins: whether a row matches, not how often
  bool counts_by_word_ = false;
  std::shared_ptr<Scratch> scratch_;
};

}  // namespace crossdock::operators
