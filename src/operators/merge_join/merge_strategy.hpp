// The sort-merge join: both sides cut into ranges of keys, each range sorted in cache, then matched in one
// linear pass. The result comes in the order of the keys.
//
// Follows Barthels et al. (PVLDB 10(5), section 3.2) on the cores of one machine: range partition,
// sort, match. Their ranges are of equal width, for keys that lie evenly; ours follow a sample of both
// sides, and a key that would fill a range alone gets one, whose pairs all workers emit. Their runs are
// sorted before they travel and merged on arrival; here rows travel first, by the scatter, into
// ranges that are sorted whole, so nothing is left to merge. A side that is sorted already is neither
// moved nor sorted: its ranges are found by binary search and read where they lie.
//
// Order of the result: ascending by the key columns in turn (NaN above all numbers, -0 = 0, strings by
// bytes). Rows without a partner stand where their key belongs. Rows that cannot match because a key
// column is null come last, left ones before right ones; where nulls equal nulls, a null stands above
// all values of its column instead.
//
// Bounds: one worker takes a range; ranges beyond 2^11 grow out of the cache. Memory: scattered sides take 16 bytes
// a row (8 if only counted), and a worker three ranges.
#pragma once

#include "data/sorters/splitters.hpp"
#include "operators/hash_join/join_run.hpp"
#include "operators/merge_join/merge_keys.hpp"

namespace crossdock::operators {

// What was planned for all strategies, and a merge join needs beside the run.
struct MergeRequest {
  const KeyPlan* keys = nullptr;
  // Where ranks have sorted rows into ranges (hash_join/rank_sides.hpp): what `keys` came from, which ranges are here,
  // and what rows carry. Else nullptr.
  const MergeKeys* words = nullptr;
  const sorters::RangeMap* arrived = nullptr;
  const OutputPlan* output = nullptr;
  SchemaPtr schema;           // of the result
  SchemaPtr residual_schema;  // if the spec has a residual
  int64_t batch_rows = 0;
  int ranges = 1;
  std::shared_ptr<Memory> memory;
};

// Emits every row of the result, the batches in order if the sink wants order. Errors: kInvalidArgument if
// a side that was declared sorted is not.
Status run_merge(JoinRun& run, const MergeRequest& request);

}  // namespace crossdock::operators
