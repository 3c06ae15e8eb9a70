// Sorts one range of rows, all its lanes, in the caches of one core.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/sort/sort_run.hpp"
#include "operators/sort/tie_refiner.hpp"

namespace crossdock::operators {

// Lanes of one range: lane i of the layout at lanes[i].
struct Leaf {
  std::vector<uint8_t*> lanes;
  int64_t rows = 0;
  bool is_equal = false;  // all words are equal
};

// One worker's own. Stable. Where the rows have a single lane beside the words, it is sorted with them;
// otherwise positions are, and every lane is permuted by them afterwards.
class LeafSorter {
 public:
  LeafSorter(const SortRun& sort, const SortLayout& layout)
      : sort_(&sort), layout_(&layout), refiner_(sort.keys, *sort.memory) {}

  Status sort(const Leaf& leaf);
  int64_t tied_rows() const { return tied_rows_; }

 private:
  Status reserve(int64_t rows);
  Status sort_by_position(const Leaf& leaf);

  const SortRun* sort_;
  const SortLayout* layout_;
  TieRefiner refiner_;
  Block scratch_;
  int64_t capacity_ = 0;
  int64_t tied_rows_ = 0;
};

}  // namespace crossdock::operators
