#include "operators/run/row_sink.hpp"

namespace crossdock::operators {

std::vector<Batch> CollectSink::take() {
  std::vector<Batch> all;
  for (std::vector<Batch>& batches : batches_) {
    for (Batch& batch : batches) all.push_back(std::move(batch));
    batches.clear();
  }
  return all;
}

Status QueueSink::accept(int, Batch batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return batches_.size() < capacity_ || cancel_->is_set(); });
  if (cancel_->is_set())
    return make_error(ErrorCode::kCancelled, "the run was cancelled while its reader was behind");
  batches_.push_back(std::move(batch));
  changed_.notify_all();
  return {};
}

Result<std::optional<Batch>> QueueSink::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !batches_.empty() || end_.has_value(); });
  if (batches_.empty()) {
    if (!end_->ok()) return end_->error();
    return std::optional<Batch>();
  }
  std::optional<Batch> batch = std::move(batches_.front());
  batches_.pop_front();
  changed_.notify_all();
  return batch;
}

void QueueSink::close(Status end) {
  const std::lock_guard lock(mutex_);
  end_ = std::move(end);
  changed_.notify_all();
}

void QueueSink::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace crossdock::operators
