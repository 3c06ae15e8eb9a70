// How the mover's thread sleeps until a link, or another thread, has something for it.
//
// Waking costs an exchange while the mover is awake, and a write to an eventfd when it sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <span>

#include "base/result.hpp"
#include "data/transports/link.hpp"

namespace crossdock::movers {

class WakeGate {
 public:
  WakeGate();
  ~WakeGate();
  WakeGate(const WakeGate&) = delete;
  WakeGate& operator=(const WakeGate&) = delete;
  // CD-201 or CD-603 if the system gave it no descriptor; then no thread may wait.
  const Status& ready() const { return ready_; }

  // Any thread. What was written before is seen by the thread that calls take_news() after it was true.
  void wake();
  // The mover's thread: whether a thread woke it since the last call.
  bool take_news();
  // Sleeps, unless there are news or a transport has something. A transport without a descriptor is polled: the sleep
  // is then a short one.
  void wait(std::span<transports::Transport* const> transports,
            std::span<const int> also_fds,
            std::chrono::microseconds at_most);

 private:
  alignas(64) std::atomic<bool> has_news_{false};
  std::atomic<bool> is_asleep_{false};
  int event_fd_ = -1;
  Status ready_;
};

}  // namespace crossdock::movers
