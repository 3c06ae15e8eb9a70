// The words of a table that are all there is to sort, moved into ranges without being counted first.
//
// Every range gets an array for the rows that an eighth of the table lets expect, and six
// standard deviations more: about a tenth of the rows at 32 K rows a range. Rows that lie in clusters
// can deceive such a sample; an array that is full ends the attempt, and the caller counts.
//
// Equal words are the same, so it does not matter that workers put them down in any order.
// Bound: a word is read once and written once, where counting reads it once more.
#pragma once

#include <cstdint>
#include <vector>

#include "data/sorters/chunk_scatter.hpp"
#include "operators/sort/range_groups.hpp"

namespace crossdock::operators {

class UncountedRanges {
 public:
  static constexpr int64_t kRowsMin = 1 << 18;  // fewer are counted in no time

  // Whether there are rows enough, nothing but exact words, and so few workers that the chunks they
  // leave half empty in every range are little beside its rows.
  static bool suit(const SortLayout& layout, const OrderKeyPlan& keys, int64_t rows, int workers);
  // Whether no word has a range of its own: where those are all, rows need not move at all.
  static bool suit(const sorters::RangeMap& map);

  UncountedRanges(const SortRun& sort, const sorters::RangeMap& map);

  // The two phases. False if an array was too short; otherwise the groups hold all rows.
  Result<bool> fill(OperatorRun& run);

  int range_count() const { return map_->range_count(); }
  int64_t largest_range() const;
  std::vector<RangeGroup>& groups() { return groups_; }
  int64_t rows(int range) const { return ranges_[range].rows; }
  // The words of a range, brought together. Once a range.
  Leaf leaf(int range) const;

 private:
  struct Range {
    int64_t capacity_rows = 0;
    int64_t offset = 0;  // of the array, in its group's block
    int64_t rows = 0;    // known when all have moved
  };

  Status sample(OperatorRun& run);
  void set_capacities(const std::vector<uint32_t>& counts, int64_t sampled_rows);
  Status lay_out();
  Result<bool> move(OperatorRun& run);
  void count_rows();
  std::vector<sorters::WordGap> gaps_of(int range) const;

  const SortRun* sort_;
  const sorters::RangeMap* map_;
  std::vector<Range> ranges_;
  std::vector<RangeGroup> groups_;
  sorters::ChunkedArrays arrays_;
  std::vector<sorters::ChunkScatter> scatters_;  // by worker
};

}  // namespace crossdock::operators
