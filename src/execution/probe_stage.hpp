// Looks the rows of a pipeline up in the build side of a join.
#pragma once

#include <memory>
#include <vector>

#include "execution/join_table.hpp"
#include "execution/stage.hpp"

namespace crossdock::execution {

enum class ProbeKind : uint8_t {
  kInner,  // each pair of rows with equal keys
  kOuter,  // and each probe row without a partner, beside nulls
  kSemi,   // each probe row with a partner, once
  kAnti,   // each probe row without one
};

struct ProbeOptions {
  BlockSchema input;   // of the probe side
  BlockSchema output;  // its last origin is the build side's store, but for semi and anti joins
  ProbeKind kind = ProbeKind::kInner;
  std::shared_ptr<const JoinTable> table;
  // Build side's columns that hold the keys, by key: read where words are hashes.
  std::vector<int> store_keys;
  // A further condition on pairs, over `pairs`, whose last origin is the build side's store; nullptr: none.
  expressions::ExpressionPtr residual;
  BlockSchema pairs;
  int workers = 1;
  std::shared_ptr<Memory> memory;
};

// Errors while it runs: kExpressionFailed of the residual, kOutOfMemoryBudget.
Result<std::unique_ptr<Stage>> make_probe_stage(ProbeOptions options);

}  // namespace crossdock::execution
