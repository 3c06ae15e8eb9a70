// Ranges of keys that are alike in all ranks, for merge joins whose rows go straight into the ranges of the rank that
// joins them (operators/hash_join/rank_sides.hpp).
#pragma once

#include <memory>
#include <vector>

#include "data/ranks/communicator.hpp"
#include "data/sorters/splitters.hpp"
#include "operators/hash_join/key_plan.hpp"
#include "operators/merge_join/merge_keys.hpp"
#include "operators/run/morsel.hpp"

namespace crossdock::operators {

// The rows of one rank, by Side.
struct RankRows {
  std::shared_ptr<const RowStore> stores[2];
  const std::vector<Morsel>* morsels[2] = {nullptr, nullptr};
};

// All ranks call it. Cuts the order of the keys into about `ranges` ranges of as many rows, by a sample of both sides
// in proportion to what each rank has. Errors of the communicator.
Result<std::shared_ptr<const sorters::RangeMap>> agree_on_ranges(ranks::Communicator& ranks,
                                                                 const MergeKeys& keys,
                                                                 const KeyPlan& plan,
                                                                 const RankRows& rows,
                                                                 int ranges);

// Of these ranges alone, ascending; at least one.
std::shared_ptr<const sorters::RangeMap> owned_ranges(const sorters::RangeMap& all,
                                                      const std::vector<int>& owned);

}  // namespace crossdock::operators
