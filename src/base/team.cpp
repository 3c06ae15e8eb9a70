#include "base/team.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>

#include "base/check.hpp"

namespace crossdock {
namespace {

constexpr std::chrono::microseconds kLookFor{30};
constexpr int kLooksPerClock = 16;

// Leaves the core to its other hardware thread for some ten nanoseconds.
void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <typename Condition>
void look_for(Condition condition) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + kLookFor;
  do {
    for (int look = 0; look < kLooksPerClock; ++look) {
      if (condition()) return;
      pause_core();
    }
  } while (Clock::now() < end);
}

}  // namespace

Error refusal_of(int worker_count, const std::system_error& refusal) {
  return make_error(
      ErrorCode::kOutOfMemoryBudget,
      "the system refused to start {} worker threads: {}\n  try      fewer threads=, or "
      "a higher limit of memory or processes",
      worker_count,
      refusal.what());
}

const CancelFlag*& CancelScope::current() {
  thread_local const CancelFlag* flag = nullptr;
  return flag;
}

Team::Team(int worker_count, Start start) : worker_count_(worker_count), errors_(worker_count) {
  CD_CHECK(worker_count >= 1, "worker_count {}", worker_count);
  if (start == Start::kWhenNeeded) return;
  try {
    this->start(worker_count);
  } catch (...) {
    stop();
    throw;
  }
}

Team::~Team() { stop(); }

void Team::start(int workers) {
  for (int worker = static_cast<int>(threads_.size()) + 1; worker < workers; ++worker) {
    threads_.emplace_back([this, worker, served = generation_.load()] { serve(worker, served); });
  }
}

void Team::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Status Team::run(const std::function<Status(int)>& task, int64_t at_most) {
  const auto workers = static_cast<int>(std::clamp<int64_t>(at_most, 1, worker_count_));
  if (workers == 1) return run_guarded(task, 0);
  try {
    start(workers);
  } catch (const std::system_error& refusal) {
    return refusal_of(workers, refusal);
  }
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    working_ = workers;
    running_ = workers - 1;
    errors_.assign(worker_count_, std::nullopt);
    ++generation_;
  }
  start_.notify_all();
  const Status first = run_guarded(task, 0);
  const auto has_ended = [this] { return running_ == 0; };
  look_for(has_ended);
  std::unique_lock lock(mutex_);
  finish_.wait(lock, has_ended);
  task_ = nullptr;
  if (!first.ok()) return first;
  for (const std::optional<Error>& error : errors_) {
    if (error.has_value()) return *error;
  }
  return {};
}

void Team::serve(int worker, uint64_t served) {
  const auto has_news = [&] { return stopping_ || generation_ != served; };
  while (true) {
    look_for(has_news);
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, has_news);
      if (stopping_) return;
      served = generation_;
      if (worker >= working_) continue;
    }
    const Status status = run_guarded(*task_, worker);
    const std::lock_guard lock(mutex_);
    if (!status.ok()) errors_[worker] = status.error();
    if (--running_ == 0) finish_.notify_one();
  }
}

Status Team::run_guarded(const std::function<Status(int)>& task, int worker) {
  try {
    return task(worker);
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::kOutOfMemoryBudget, "the system has no more memory to give");
  } catch (const std::exception& failure) {
    return make_error(ErrorCode::kInternal, "worker {}: {}", worker, failure.what());
  }
}

}  // namespace crossdock
