// One side of a merge join, readable range by range: scattered into segments, or already sorted and
// read where it lies.
#pragma once

#include <vector>

#include "data/sorters/word_sort.hpp"
#include "operators/merge_join/range_partitioner.hpp"
#include "operators/merge_join/row_window.hpp"

namespace crossdock::operators {

// Thread-safe to read once made. Rows of a range are counted from 0.
class MergeSide {
 public:
  virtual ~MergeSide() = default;

  virtual bool is_sorted() const = 0;
  // Whether no word is known to stand twice.
  virtual bool is_unique() const { return false; }
  // Whether every range must be loaded, wanted or not, because loading is what checks its order.
  virtual bool must_be_read() const { return false; }
  virtual int64_t rows(int range) const = 0;
  // Copies rows [begin, begin + count) of a range; `to.carry` may be nullptr if rows carry nothing.
  virtual Status load(int range,
                      int64_t begin,
                      int64_t count,
                      const sorters::PairLanes& to) const = 0;

  // Rows without a word: how many, and their carried values.
  virtual int64_t rows_without_word() const = 0;
  virtual void load_without_word(int64_t begin, int64_t count, uint64_t* carry) const = 0;
};

// Lists of segments, of several workers or ranks.
using SegmentLists = std::vector<const sorters::SegmentList*>;

class ScatteredSide : public MergeSide {
 public:
  // Lists by range, and those of rows without a word, which must outlive the side.
  ScatteredSide(std::vector<SegmentLists> ranges, SegmentLists without_word);

  bool is_sorted() const override { return false; }
  int64_t rows(int range) const override { return rows_[range]; }
  Status load(int range, int64_t begin, int64_t count, const sorters::PairLanes& to) const override;
  int64_t rows_without_word() const override { return rows_without_word_; }
  void load_without_word(int64_t begin, int64_t count, uint64_t* carry) const override;

 private:
  std::vector<SegmentLists> ranges_;
  SegmentLists without_word_;
  std::vector<int64_t> rows_;  // by range
  int64_t rows_without_word_ = 0;
};

// What a sorted side is read with.
struct SortedSource {
  const MergeKeys* keys = nullptr;
  const CarryPlan* carry = nullptr;
  const sorters::RangeMap* ranges = nullptr;
  Side side = Side::kLeft;
  bool is_checked = false;  // known to be sorted: not checked again while it is read
  bool is_unique = false;   // known to have no word twice
};

class SortedSide : public MergeSide {
 public:
  // `window` holds the rows with words.
  SortedSide(SortedSource source, RowWindow window);

  // Finds the borders of ranges first, first + step ... by binary search; several callers may take
  // different ones. Then settle_borders(), once.
  void find_borders(int first, int step);
  void settle_borders();

  bool is_sorted() const override { return true; }
  bool is_unique() const override { return source_.is_unique; }
  bool must_be_read() const override { return !source_.is_checked; }
  int64_t rows(int range) const override { return borders_[range + 1] - borders_[range]; }
  // Error kInvalidArgument if the rows turn out not to be sorted.
  Status load(int range, int64_t begin, int64_t count, const sorters::PairLanes& to) const override;
  int64_t rows_without_word() const override { return window_.rows_outside(); }
  void load_without_word(int64_t begin, int64_t count, uint64_t* carry) const override;

 private:
  uint64_t word_at(int64_t position) const;
  int64_t first_not_below(uint64_t word) const;
  Status check_order(int range, int64_t begin, int64_t count, const uint64_t* words) const;
  Error unsorted(int64_t position) const;

  SortedSource source_;
  RowWindow window_;
  std::vector<int64_t> borders_;  // by range, positions in the window; and its end
};

}  // namespace crossdock::operators
