#include "operators/run/ordered_emitter.hpp"

#include <chrono>
#include <utility>

namespace crossdock::operators {
namespace {

// How often who waits looks at the cancel flag, which wakes no thread.
constexpr auto kPollInterval = std::chrono::milliseconds(20);

}  // namespace

Status OrderedEmitter::wait_for_room(std::unique_lock<std::mutex>& lock, int64_t part) {
  while (part != first_ && held_count_ >= held_max_ && !error_.has_value()) {
    if (cancel_->is_set()) {
      return make_error(ErrorCode::kCancelled, "the run was cancelled while batches were in line");
    }
    changed_.wait_for(lock, kPollInterval);
  }
  if (error_.has_value()) return *error_;
  return {};
}

Status OrderedEmitter::pass_on(std::vector<Batch> batches) {
  for (Batch& batch : batches) {
    rows_ += batch.rows;
    CD_TRY(sink_->accept(0, std::move(batch)));
  }
  return {};
}

Status OrderedEmitter::put(int64_t part, Batch batch) {
  std::vector<Batch> ready;
  {
    std::unique_lock lock(mutex_);
    CD_TRY(wait_for_room(lock, part));
    Held& held = held_[part];
    held.batches.push_back(std::move(batch));
    ++held_count_;
    if (part != first_) return {};
    ready = std::exchange(held.batches, {});
    held_count_ -= static_cast<int64_t>(ready.size());
  }
  changed_.notify_all();
  return pass_on(std::move(ready));
}

Status OrderedEmitter::end(int64_t part) {
  std::unique_lock lock(mutex_);
  if (error_.has_value()) return *error_;
  held_[part].ended = true;
  if (part != first_) return {};
  // This part was the first: its owner passes on what ended behind it, up to a part that is still
  // open, whose own owner finds itself the first when it comes back.
  while (true) {
    const auto held = held_.find(first_);
    if (held == held_.end() || !held->second.ended) return {};
    std::vector<Batch> ready = std::exchange(held->second.batches, {});
    held_count_ -= static_cast<int64_t>(ready.size());
    lock.unlock();
    changed_.notify_all();
    CD_TRY(pass_on(std::move(ready)));
    lock.lock();
    held_.erase(first_++);
    changed_.notify_all();
  }
}

void OrderedEmitter::abort(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_.has_value()) error_ = error;
  }
  changed_.notify_all();
}

Status for_ordered_parts(
    OperatorRun& run,
    const char* name,
    int64_t count,
    OrderedEmitter& emitter,
    const std::function<Status(int worker, int64_t part, OrderedEmitter& out)>& task) {
  return run.for_indices(name, count, 0, [&](int worker, int64_t part) -> Status {
    Status status = task(worker, part, emitter);
    if (status.ok()) status = emitter.end(part);
    if (!status.ok()) emitter.abort(status.error());
    return status;
  });
}

}  // namespace crossdock::operators
