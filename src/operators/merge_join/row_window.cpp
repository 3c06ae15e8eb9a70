#include "operators/merge_join/row_window.hpp"

#include <algorithm>

namespace crossdock::operators {

RowWindow::RowWindow(std::shared_ptr<const RowStore> store) : store_(std::move(store)) {
  int64_t row = 0;
  for (const Batch& batch : store_->batches()) {
    starts_.push_back(row);
    row += batch.rows;
  }
  end_ = row;
}

size_t RowWindow::batch_at(int64_t row) const {
  return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), row) -
                             starts_.begin() - 1);
}

RowRef RowWindow::ref_of(int64_t position) const {
  const int64_t row = begin_ + position;
  const size_t batch = batch_at(row);
  return store_->first_ref(static_cast<int>(batch)) + static_cast<RowRef>(row - starts_[batch]);
}

}  // namespace crossdock::operators
