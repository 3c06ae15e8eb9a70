// A team of workers: the threads of one operator's run.
//
// A team is made per run and dies with it: a stream that waits for its consumer must never hold
// threads that another join of the same session needs. The calling thread is worker 0, so a team of
// one starts no thread at all, and a team that starts threads when they are needed none for a run
// over few rows. Threads that wait for the next phase, or for its end, look for it
// for some microseconds, since waking one takes longer than most phases are apart, and sleep then.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/result.hpp"

namespace crossdock {

// Set once by a thread that wants a run to end; read by all workers between morsels.
class CancelFlag {
 public:
  CancelFlag() = default;
  // Of a part of a run, which ends with the whole. `whole` outlives it.
  explicit CancelFlag(const CancelFlag* whole) : whole_(whole) {}

  void set() { set_.store(true, std::memory_order_relaxed); }
  bool is_set() const {
    return set_.load(std::memory_order_relaxed) || (whole_ != nullptr && whole_->is_set());
  }

 private:
  std::atomic<bool> set_{false};
  const CancelFlag* whole_ = nullptr;
};

// While it lives, what this thread does is part of a run that ends when `flag` is set: what waits for something far
// away looks at it. Scopes nest.
class CancelScope {
 public:
  explicit CancelScope(const CancelFlag* flag) : outer_(current()) { current() = flag; }
  ~CancelScope() { current() = outer_; }
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  // Whether the run that this thread is at work for has been cancelled.
  static bool is_cancelled() { return current() != nullptr && current()->is_set(); }

 private:
  static const CancelFlag*& current();

  const CancelFlag* outer_;
};

// What to say where the system refuses threads.
Error refusal_of(int worker_count, const std::system_error& refusal);

class Team {
 public:
  enum class Start : uint8_t { kNow, kWhenNeeded };

  // Throws std::system_error if the system refuses to start a thread now; none is left then.
  explicit Team(int worker_count, Start start = Start::kNow);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int worker_count() const { return worker_count_; }

  // Runs task(worker) once on every worker, or on the first `at_most` of them, and waits for all.
  // Answers the error of the lowest worker that had one. Exceptions inside a task become kInternal
  // errors. kOutOfMemoryBudget, with advice, if the system refuses a thread that is needed now. One
  // caller at a time; the task of a run of one worker may run others.
  Status run(const std::function<Status(int worker)>& task,
             int64_t at_most = std::numeric_limits<int64_t>::max());

 private:
  // Threads of all workers below this number.
  void start(int workers);
  void serve(int worker, uint64_t served);
  void stop();
  static Status run_guarded(const std::function<Status(int)>& task, int worker);

  const int worker_count_;
  const std::function<Status(int)>* task_ = nullptr;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable finish_;
  // Changed under the mutex.
  int working_ = 0;  // workers that take part in this generation
  std::atomic<uint64_t> generation_{0};
  std::atomic<int> running_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::optional<Error>> errors_;
  std::vector<std::thread> threads_;
};

}  // namespace crossdock
