// Counts calls of gRPC that are under way, for an owner that must outlive them.
//
// A client's context keeps its channel, and gRPC aborts when one of its own threads drops a channel last. So a thread
// that owns a channel waits here until no call has its context any more, and then drops the channel himself.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace crossdock::control {

// Thread-safe.
class LiveCalls {
 public:
  void begin() {
    const std::lock_guard held(mutex_);
    ++count_;
  }
  void end() {
    // Notified under the lock: the thread that waits may then take all this down.
    const std::lock_guard held(mutex_);
    if (--count_ == 0) none_left_.notify_all();
  }
  void wait_for_none() {
    std::unique_lock held(mutex_);
    none_left_.wait(held, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  int64_t count_ = 0;
};

// The first member of a call, so that it goes last.
class LiveCall {
 public:
  explicit LiveCall(LiveCalls& calls) : calls_(calls) { calls_.begin(); }
  ~LiveCall() { calls_.end(); }
  LiveCall(const LiveCall&) = delete;
  LiveCall& operator=(const LiveCall&) = delete;

 private:
  LiveCalls& calls_;
};

}  // namespace crossdock::control
