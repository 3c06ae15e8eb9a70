// Finding candidate pairs: for a block of probe rows, the rows of a table with the same word.
//
// Instead of finishing one row after the other, which mispredicts at the end of every run, a block is
// worked off in rounds: round k compares the k-th row of each run, and only rows whose run goes on
// stay for round k+1. Nothing in a round branches on the data.
#pragma once

#include <cstdint>

#include "operators/hash_join/run_table.hpp"
#include "operators/hash_join/side_partitioner.hpp"

namespace crossdock::operators {

struct ProbeBlock {
  int32_t rows = 0;  // <= kSorterRows
  const uint64_t* words = nullptr;
  const uint64_t* carry = nullptr;
};

// Candidate pairs: row of the block, position in the table.
constexpr int32_t kPairRows = 4096;
struct PairList {
  int32_t count = 0;
  uint16_t rows[kPairRows];
  uint32_t positions[kPairRows];
};

// Rows of a block that are not finished, and where each one's run goes on.
struct OpenRuns {
  int32_t count = 0;
  uint16_t rows[kSorterRows];
  uint32_t next[kSorterRows];
  uint32_t end[kSorterRows];
};

struct FindOptions {
  bool unique = false;    // a word stands at most once: a row that matched is finished
  bool prefetch = false;  // the table is larger than the caches
};

// First round: enters pairs into `pairs` (which must be empty) and what is left into `open`.
void find_first(const RunTable& table,
                const ProbeBlock& block,
                FindOptions options,
                PairList& pairs,
                OpenRuns& open);

// Further rounds, until no run is open or `pairs` has no room for another round; call again after
// emptying it while open.count > 0.
void find_rest(const RunTable& table,
               const ProbeBlock& block,
               FindOptions options,
               PairList& pairs,
               OpenRuns& open);

// An array indexed by the dense key: entry = build ref + 1, or 0. Position = index.
struct DenseTable {
  const uint32_t* entries = nullptr;
  int range_bits = 1;
};
void find_dense(const DenseTable& table, const ProbeBlock& block, PairList& pairs);

}  // namespace crossdock::operators
