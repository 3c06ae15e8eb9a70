// Consecutive ranges of rows that share memory: the unit that is sorted, handed out and given back.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "data/sorters/splitters.hpp"
#include "operators/sort/leaf_sorter.hpp"
#include "operators/sort/sort_run.hpp"

namespace crossdock::operators {

struct RangeGroup {
  int first_range = 0;
  int end_range = 0;
  int64_t first_row = 0;  // in the order
  int64_t rows = 0;
  std::vector<Block> lanes;  // empty after they were taken
};

// Rows a group may have: a share of the workers' rows small enough to be given back early, and a power
// of two, as are the sizes that blocks are rounded up to, so that nothing is lost to rounding.
inline int64_t group_rows_max(const SortRun& sort) {
  constexpr int64_t kMost = 1 << 19;
  constexpr int64_t kLeast = 1 << 16;
  constexpr int kGroupsPerWorker = 8;
  const int64_t fair = sort.store->rows() / (sort.workers() * kGroupsPerWorker);
  return static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::clamp(fair, kLeast, kMost))));
}

}  // namespace crossdock::operators
