// Looks the rows of a pipeline up in the build side of a join.
#pragma once

#include <memory>
#include <vector>

#include "base/team.hpp"
#include "execution/join_table.hpp"
#include "execution/ordered_runs.hpp"
#include "execution/stage.hpp"
#include "operators/hash_join/join_spec.hpp"

namespace crossdock::execution {

struct ProbeOptions {
  BlockSchema input;          // of the probe side
  operators::JoinRoles kind;  // which rows leave
  std::shared_ptr<const JoinTable> table;
  // Build side's columns that hold the keys, by key: read where words are hashes.
  std::vector<int> store_keys;
  // A further condition on pairs, over `pairs`, whose last origin is the build side's store; nullptr: none.
  expressions::ExpressionPtr residual;
  BlockSchema pairs;
  // By which candidate pairs are found where the condition compares values; nullptr: all of equal keys are.
  std::shared_ptr<const OrderedRuns> ordered;
  int workers = 1;
  std::shared_ptr<Memory> memory;
  const CancelFlag* cancel = nullptr;  // few rows can have many pairs
};

// Blocks that leave have the build side's store as their last origin, unless only probe rows leave.
// Errors while it runs: kExpressionFailed of the residual, kOutOfMemoryBudget, kCancelled.
Result<std::unique_ptr<Stage>> make_probe_stage(ProbeOptions options);

}  // namespace crossdock::execution
