// The rows of a table, moved into ranges of their key words: one scatter, in which every lane of every
// row is written once, into arrays that can be sorted in place.
//
// Ranges come from a sample of the words (data/sorters/splitters.hpp), so they follow the keys; a word
// that many rows have gets a range of its own. Consecutive ranges form groups, each with one block of
// memory per lane: the unit that is sorted, handed out and given back.
//
// The rows are read twice, to be counted and to be moved. Counting lets the blocks have exactly their
// size, and keeps the order of equal rows, whichever worker moves them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/sorters/range_scatter.hpp"
#include "operators/sort/range_groups.hpp"

namespace crossdock::operators {

class RangePartitions {
 public:
  RangePartitions(const SortRun& sort, const SortLayout& layout, sorters::RangeMap map)
      : sort_(&sort), layout_(&layout), map_(std::move(map)) {}

  // The two phases. Afterwards the groups hold all rows.
  Status fill(OperatorRun& run);

  int range_count() const { return map_.range_count(); }
  int64_t largest_range() const;
  // The keys are so few that every row is in a range of equal words: nothing had to be moved, and
  // the groups hold the words as often as they were counted.
  bool only_counted() const { return only_counted_; }
  std::vector<RangeGroup>& groups() { return groups_; }
  // The rows of a range, in the blocks of its group.
  Leaf leaf(const RangeGroup& group, int range) const;

 private:
  // A run of morsels that one worker counts and moves.
  struct Task {
    size_t first_morsel = 0;
    size_t end_morsel = 0;
    int64_t rows = 0;
  };
  struct Scratch;

  void cut_tasks();
  int64_t rows_of_task() const;  // about
  Status count(OperatorRun& run);
  void count_task(size_t task);
  Status lay_out();
  Status move(OperatorRun& run);
  bool all_equal_in_ranges() const;
  void fill_group(const RangeGroup& group);
  Status move_task(size_t task, Scratch& scratch);
  Status move_lanes(size_t task, int first_lane, int end_lane, Scratch& scratch);
  void start_lane(size_t task, int lane, sorters::LaneScatter& scatter) const;
  uint32_t* counts_of(size_t task) { return counts_.as<uint32_t>() + task * range_count(); }
  const uint32_t* counts_of(size_t task) const {
    return counts_.as<const uint32_t>() + task * range_count();
  }

  const SortRun* sort_;
  const SortLayout* layout_;
  std::vector<Task> tasks_;
  sorters::RangeMap map_;
  Block counts_;                      // by task and range; after lay_out() where they start
  std::vector<int64_t> range_begin_;  // first row of each range in the order, and the end
  std::vector<int> group_of_;         // by range
  std::vector<RangeGroup> groups_;
  bool streams_ = false;
  bool only_counted_ = false;
};

}  // namespace crossdock::operators
