// Brings the rows of one range of both sides into order: loads them, sorts what is not sorted, and
// makes words that do not tell all keys apart into ranks that do. One per worker.
//
// Ranges are sized so that their rows and the sort's scratch stay in the second-level cache.
#pragma once

#include "memory/budget.hpp"
#include "operators/merge_join/match_kernels.hpp"
#include "operators/merge_join/merge_side.hpp"
#include "table/row_order.hpp"

namespace crossdock::operators {

class RangeSorter {
 public:
  // `sides` by Side; they and `keys` must outlive the sorter. has_carry: whether rows carry anything.
  struct Sides {
    const MergeSide* rows[2] = {nullptr, nullptr};
    bool has_carry[2] = {true, true};
  };
  RangeSorter(Memory& memory, const MergeKeys& keys, Sides sides)
      : memory_(&memory), keys_(&keys), sides_(sides) {}

  // Loads all rows of a range of both sides in order, with exact words.
  Status sort(int range);

  // Loads some rows of a range of one side, in no order; or some rows without a word.
  Status load(Side side, int range, int64_t begin, int64_t count);
  Status load_without_word(Side side, int64_t begin, int64_t count);

  // What was loaded last, valid until the side is loaded again.
  const SortedRange& rows(Side side) const { return rows_[index_of(side)]; }

 private:
  struct Lanes {
    Block words;
    Block carry;
  };

  Status reserve(Lanes& lanes, int64_t rows, bool has_carry);
  sorters::PairLanes pairs(const Lanes& lanes, bool has_carry) const;
  Status sort_side(Side side, int range);
  void sort_ties(Side side);
  void rank_rows();
  int64_t end_of_key(int side, int64_t begin, const OrderComparer& comparer) const;

  Memory* memory_;
  const MergeKeys* keys_;
  Sides sides_;
  Lanes lanes_[2];  // by Side
  Lanes scratch_;
  SortedRange rows_[2];  // by Side
};

}  // namespace crossdock::operators
