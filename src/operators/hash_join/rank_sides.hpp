// Both sides of a join over ranks, partitioned into the memory of the ranks that join them.
//
// The radix join has two halves: partition, then build and probe part by part. Over ranks the first half is done by all
// of them together, with the fan-out that the second half wants (data/bulk/segment_window.hpp): a row is hashed once,
// moved once, and lies where its part is joined. The second half is the same code as on one machine: HashJoin runs on
// what has arrived.
//
// A merge join goes the same way, with ranges of keys for parts: a rank has neighbouring ranges, so that the result is
// in order over all ranks, and sorts and matches them as on one machine.
//
// It takes what the radix join carries in its two words: keys that fit 64 bits together, and columns that fit another
// 64 beside them; merge joins take one 64-bit integer. Where rows need more (strings, wide rows, residual predicates),
// `reason` says so, and rows have to be moved as tables first.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/bulk/agreed_keys.hpp"
#include "data/bulk/bulk_exchange.hpp"
#include "data/bulk/segment_window.hpp"
#include "operators/hash_join/join_planner.hpp"
#include "operators/hash_join/join_run.hpp"
#include "operators/hash_join/side_sorter.hpp"
#include "operators/merge_join/rank_ranges.hpp"
#include "operators/run/operator.hpp"

namespace crossdock::operators {

// Of one rank, for HashJoin::create. Immutable; joined as often as wanted.
struct RankSides {
  JoinSpec spec;
  SchemaPtr schema;  // of the result
  KeyPlan keys;      // alike in all ranks, as the output and the bits are
  OutputPlan output;
  Side build = Side::kRight;
  int partition_bits = 0;
  int ranks = 1;
  std::shared_ptr<const RowStore> stores[2];  // by Side: no rows, which have all been carried here
  ArrivedSides sides;                         // shows what the two below hold
  bulk::ArrivedSegments arrived;
  // By Side: rows that cannot match stayed here.
  // Of a merge join, else nullptr: its words, and the ranges that are here.
  std::shared_ptr<const MergeKeys> words;
  std::shared_ptr<const sorters::RangeMap> ranges;
  std::vector<std::unique_ptr<SideSorter>> sorters[2];
  bulk::BulkFacts facts;
};

struct RankPartition {
  std::shared_ptr<const RankSides> sides;  // or null:
  std::string reason;                      // why rows cannot go this way; the same in all ranks
};

// Up to so many ranks, each owns sixteen of the most partitions that a scatter has.
inline constexpr int kPartitionRanksMax = (1 << sorters::kPartitionBitsMax) / 16;

// All ranks call it, each with its rows. `spec` is alike in all of them; any strategy but merge counts as radix.
// Errors in all ranks: what HashJoin::create has, CD-105 if ranks pass different joins or schemas, and those of
// SegmentWindow.
Result<RankPartition> partition_over_ranks(const bulk::RankRun& run,
                                           const JoinSpec& spec,
                                           const TablePtr& left,
                                           const TablePtr& right,
                                           const RunEnvironment& environment);

}  // namespace crossdock::operators
