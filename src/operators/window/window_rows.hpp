// The rows of a window, sorted, by position; and where partitions and groups of equal rows begin.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "operators/run/operator_run.hpp"
#include "operators/window/window_spec.hpp"
#include "table/order_key.hpp"
#include "table/row_store.hpp"

namespace crossdock::operators {

// Rows by position: one after the other through all batches.
class RowsInOrder {
 public:
  explicit RowsInOrder(std::shared_ptr<const RowStore> store);

  const std::shared_ptr<const RowStore>& store() const { return store_; }
  int64_t rows() const { return starts_.back(); }
  int64_t batch_count() const { return static_cast<int64_t>(starts_.size()) - 1; }
  int64_t start_of(int64_t batch) const { return starts_[batch]; }
  const Batch& batch(int64_t index) const { return store_->batches()[index]; }
  RowRef first_ref(int64_t batch) const { return store_->first_ref(static_cast<int>(batch)); }
  int64_t batch_at(int64_t position) const {
    return std::upper_bound(starts_.begin(), starts_.end(), position) - starts_.begin() - 1;
  }

 private:
  std::shared_ptr<const RowStore> store_;
  std::vector<int64_t> starts_;  // of the batches, and the end
};

// References of positions that are mostly near each other. One thread's own.
class RowNames {
 public:
  explicit RowNames(const RowsInOrder& rows) : rows_(&rows) {}
  RowRef ref(uint32_t position) {
    if (position < begin_ || position >= end_) look_up(position);
    return static_cast<RowRef>(position - begin_) + first_;
  }

 private:
  void look_up(uint32_t position);
  const RowsInOrder* rows_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  RowRef first_ = 0;
};

// Keys of all rows as words; none without keys. Errors: kOutOfMemoryBudget, kCancelled.
Result<std::optional<OrderKeyPlan>> settled_keys(OperatorRun& run,
                                                 const RowsInOrder& rows,
                                                 const std::vector<SortKey>& keys);

// Positions at which partitions begin, and those at which rows differ from the one before in partition or order; both
// with the number of rows at the end.
struct WindowStarts {
  std::vector<uint32_t> partitions;
  std::vector<uint32_t> peers;  // empty without an order
};
// Errors: kOutOfMemoryBudget, kCancelled.
Result<WindowStarts> find_starts(OperatorRun& run, const RowsInOrder& rows, const WindowSpec& spec);

constexpr int32_t kWindowRows = 2048;  // of one block

// A run of rows, and where the partition and the group of each lie. One thread's own.
struct WindowBlock {
  int64_t row = 0;  // position of the first one
  int32_t rows = 0;
  uint32_t partition_begin[kWindowRows];
  uint32_t partition_end[kWindowRows];
  // With an order:
  uint32_t peer[kWindowRows];        // number of the row's group
  uint32_t first_peer[kWindowRows];  // and of the partition's first one

  uint32_t position(int32_t i) const { return static_cast<uint32_t>(row) + i; }
};

// Fills blocks one after the other.
class BlockWalker {
 public:
  BlockWalker(const WindowStarts& starts, int64_t first_row);
  // The next `rows` rows.
  void fill(int32_t rows, WindowBlock& block);

 private:
  const WindowStarts* starts_;
  int64_t row_;
  size_t partition_ = 0;
  size_t peer_ = 0;
  size_t first_peer_ = 0;
};

}  // namespace crossdock::operators
