// The rows of a side by position: which batch a position lies in, and the window of rows with a word,
// which in a sorted side has at most rows with null keys before it and behind it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "table/row_store.hpp"

namespace crossdock::operators {

class RowWindow {
 public:
  explicit RowWindow(std::shared_ptr<const RowStore> store);
  // Narrows the window to rows [begin, end) of the side.
  void set(int64_t begin, int64_t end) {
    begin_ = begin;
    end_ = end;
  }

  int64_t rows() const { return end_ - begin_; }
  int64_t rows_outside() const { return store_->rows() - rows(); }
  int64_t begin() const { return begin_; }
  const RowStore& store() const { return *store_; }

  RowRef ref_of(int64_t position) const;  // of a position in the window
  // Calls take(batch, first row in it, rows, ref of the first) for the pieces of at most `rows_max` rows
  // that make up positions [begin, begin + count) of the window, in order.
  struct Piece {
    const Batch* batch;
    int64_t begin;
    int32_t rows;
    RowRef first_ref;
  };
  template <class Take>
  void for_pieces(int64_t begin, int64_t count, int32_t rows_max, const Take& take) const {
    pieces_of_side(begin_ + begin, count, rows_max, take);
  }
  // The same over the rows outside of the window.
  template <class Take>
  void for_pieces_outside(int64_t begin, int64_t count, int32_t rows_max, const Take& take) const {
    const int64_t before = std::clamp<int64_t>(begin_ - begin, 0, count);
    if (before > 0) pieces_of_side(begin, before, rows_max, take);
    if (before < count) {
      pieces_of_side(begin + before - begin_ + end_, count - before, rows_max, take);
    }
  }

 private:
  size_t batch_at(int64_t row) const;

  template <class Take>
  void pieces_of_side(int64_t row, int64_t count, int32_t rows_max, const Take& take) const {
    for (size_t b = batch_at(row); count > 0; ++b) {
      const Batch& batch = store_->batches()[b];
      int64_t at = row - starts_[b];
      const int64_t end = std::min(batch.rows, at + count);
      const RowRef first = store_->first_ref(static_cast<int>(b));
      for (; at < end; at += rows_max) {
        const auto rows = static_cast<int32_t>(std::min<int64_t>(rows_max, end - at));
        take(Piece{&batch, at, rows, first + static_cast<RowRef>(at)});
        row += rows;
        count -= rows;
      }
    }
  }

  std::shared_ptr<const RowStore> store_;
  std::vector<int64_t> starts_;  // by batch: its first row, counted over the side
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

}  // namespace crossdock::operators
