// The driver of CPU threads.
#include "data/rings/thread_driver.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "base/check.hpp"
#include "data/rings/scheduled_driver.hpp"

namespace crossdock::rings {
namespace {

using Clock = std::chrono::steady_clock;

// What the threads of one drive share.
struct Drive {
  std::span<Actor* const> actors;
  const ThreadDriveOptions& options;
  std::atomic<uint64_t> progress{0};
  std::atomic<bool> stop{false};
  std::atomic<bool> stuck{false};

  bool is_cancelled() const { return options.cancel != nullptr && options.cancel->is_set(); }
};

// How long this thread has seen nothing happen, and what it does meanwhile.
class Patience {
 public:
  explicit Patience(Drive& drive) : drive_(drive) {}

  void reset() { idle_rounds_ = 0; }

  void wait() {
    const ThreadDriveOptions& options = drive_.options;
    ++idle_rounds_;
    if (idle_rounds_ <= options.spin_rounds) return;
    look_at_clock();
    if (idle_rounds_ <= options.spin_rounds + options.yield_rounds) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(options.nap);
    }
  }

 private:
  void look_at_clock() {
    const auto now = Clock::now();
    const uint64_t progress = drive_.progress.load(std::memory_order_relaxed);
    if (progress != seen_) {
      seen_ = progress;
      since_ = now;
    } else if (now - since_ > drive_.options.stuck_after) {
      drive_.stuck.store(true, std::memory_order_relaxed);
      drive_.stop.store(true, std::memory_order_relaxed);
    }
  }

  Drive& drive_;
  int64_t idle_rounds_ = 0;
  uint64_t seen_ = 0;
  Clock::time_point since_ = Clock::now();
};

void serve(Drive& drive, size_t worker) {
  std::vector<Actor*> mine;
  for (size_t at = worker; at < drive.actors.size();
       at += static_cast<size_t>(drive.options.threads)) {
    mine.push_back(drive.actors[at]);
  }
  Patience patience(drive);
  while (!mine.empty() && !drive.stop.load(std::memory_order_relaxed)) {
    if (drive.is_cancelled()) return;
    bool moved = false;
    std::erase_if(mine, [&moved](Actor* actor) {
      const Step answer = actor->step();
      moved |= answer != Step::kIdle;
      return answer == Step::kDone;
    });
    if (moved) {
      drive.progress.fetch_add(1, std::memory_order_relaxed);
      patience.reset();
    } else {
      patience.wait();
    }
  }
}

}  // namespace

Status run_on_threads(std::span<Actor* const> actors, const ThreadDriveOptions& options) {
  CD_CHECK(options.threads >= 1, "threads {}", options.threads);
  Drive drive{.actors = actors, .options = options};
  Team team(options.threads);
  const Status ran = team.run([&drive](int worker) -> Status {
    try {
      serve(drive, static_cast<size_t>(worker));
      return {};
    } catch (...) {
      drive.stop.store(true, std::memory_order_relaxed);  // no thread waits for this one's actors
      throw;
    }
  });
  CD_TRY(ran);
  if (drive.stuck.load(std::memory_order_relaxed)) {
    return make_error(ErrorCode::kInternal,
                      "no actor has made progress for {} ms:{}",
                      options.stuck_after.count(),
                      describe(actors));
  }
  if (drive.is_cancelled()) {
    return make_error(
        ErrorCode::kCancelled, "cancelled while {} actors were at work", actors.size());
  }
  return {};
}

}  // namespace crossdock::rings
