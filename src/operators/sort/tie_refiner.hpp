// Tells rows apart whose words are equal but not exact: reads on, word after word, only where rows are
// still equal.
//
// Follows the multikey scheme of Bentley and Sedgewick (Fast Algorithms for Sorting and Searching
// Strings, SODA 1997) with words for characters: what is equal is never read again. It goes level by
// level over all runs of a leaf, so that the memory accesses of many rows overlap; bytes that a long
// run shares are skipped at once; the rows of short runs are compared in pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/budget.hpp"
#include "table/order_key.hpp"

namespace crossdock::operators {

// One worker's own. Needs 28 bytes of scratch per tied row.
class TieRefiner {
 public:
  TieRefiner(const OrderKeyPlan& keys, Memory& memory) : keys_(&keys), memory_(&memory) {}

  // rows[0, n) are in the order of `words`; afterwards in the order of their keys. Rows that are equal
  // keep their order. A row is a RowRef, or, if `refs` is given, a position in it. Answers in
  // *tied_rows how many had to be read again.
  Status refine(
      const uint64_t* words, uint32_t* rows, int64_t n, const RowRef* refs, int64_t* tied_rows);

 private:
  struct Run {
    int64_t begin;
    int64_t rows;
    OrderKeyPlan::Ties ties;
  };

  Status reserve(int64_t rows);
  Status refine_level(uint32_t* rows, const RowRef* refs);
  void refine_batch(const Run* runs, size_t count, uint32_t* rows, const RowRef* refs);
  void split(const Run& run, const uint64_t* words);
  void sort_pairwise(const Run& run, uint32_t* rows, const RowRef* refs) const;

  const OrderKeyPlan* keys_;
  Memory* memory_;
  std::vector<Run> runs_;  // of this level
  std::vector<Run> next_;  // of the next
  Block block_;
  int64_t capacity_ = 0;
};

}  // namespace crossdock::operators
