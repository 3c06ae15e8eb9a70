// Batches on their way out of a join.
#include "operators/hash_join/join_sinks.hpp"

namespace crossdock {

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
  if (cancel_->is_set()) return make_error(ErrorCode::kCancelled, "the join was cancelled");
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

Emitter::Emitter(const OutputContext& context, JoinSink& sink, int worker)
    : sink_(&sink), worker_(worker), counts_only_(sink.counts_only()) {
  for (int presence = 0; presence < kPresenceCount; ++presence) {
    builders_.emplace_back(context, static_cast<Presence>(presence));
  }
}

Status Emitter::emit(const RowBlock& block) {
  rows_ += block.rows;
  if (counts_only_ || block.rows == 0) return {};
  BatchBuilder& builder = builders_[static_cast<size_t>(block.presence)];
  if (!builder.has_room(block.rows)) CD_TRY(pass_on(builder));
  return builder.append(block);
}

Status Emitter::flush(int64_t rows_min) {
  for (BatchBuilder& builder : builders_) {
    if (builder.rows() >= rows_min) CD_TRY(pass_on(builder));
  }
  return {};
}

Status Emitter::pass_on(BatchBuilder& builder) {
  CD_ASSIGN(Batch batch, builder.finish());
  return sink_->accept(worker_, std::move(batch));
}

}  // namespace crossdock
