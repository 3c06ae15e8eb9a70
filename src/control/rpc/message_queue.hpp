// Messages that wait to be written to one connection: bounded, in order, and joined into one wire message for all that
// wait while the one before is written.
//
// Any thread puts; at most one at a time has the turn to write, which it takes with begin() and keeps until advance()
// says that there is nothing more. Encoding is done by whoever has the turn, outside of the lock.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "control/rpc/control_wire.hpp"

namespace crossdock {

inline constexpr size_t kQueuedMessagesMax = 131'072;     // that wait for one connection
inline constexpr size_t kBatchBytes = size_t{256} << 10;  // a batch that has reached it is sent

template <class Message>
class MessageQueue {
 public:
  enum class Next : uint8_t {
    kNothing,  // the turn is given back, or was not to be had
    kWrite,    // `bytes` are to be written, then advance() is to be called
    kFinish,   // everything is written and end() was called: told once, and nothing follows
  };

  // False if the queue is full: whoever reads does not keep up. A queue that has ended takes and drops.
  bool put(Message message) {
    const std::lock_guard held(mutex_);
    if (is_ended_) return true;
    if (waiting_.size() >= kQueuedMessagesMax) return false;
    waiting_.push_back(std::move(message));
    return true;
  }

  // No further messages; those that wait are still written unless `at_once`.
  void end(bool at_once) {
    const std::lock_guard held(mutex_);
    is_ended_ = true;
    if (at_once) waiting_.clear();
  }

  Next begin(std::string& bytes) {
    {
      const std::lock_guard held(mutex_);
      if (is_writing_ || is_finished_) return Next::kNothing;
      is_writing_ = true;
    }
    return advance(bytes);
  }

  Next advance(std::string& bytes) {
    std::vector<Message> taken;
    bytes.clear();
    while (bytes.size() < kBatchBytes) {
      {
        const std::lock_guard held(mutex_);
        if (waiting_.empty()) {
          if (!bytes.empty()) return Next::kWrite;
          is_writing_ = false;
          if (!is_ended_) return Next::kNothing;
          is_finished_ = true;
          return Next::kFinish;
        }
        const size_t count = std::min<size_t>(waiting_.size(), kTakenAtOnce);
        taken.clear();
        for (size_t i = 0; i < count; ++i) {
          taken.push_back(std::move(waiting_.front()));
          waiting_.pop_front();
        }
      }
      for (const Message& message : taken) append_message(message, bytes);
    }
    return Next::kWrite;
  }

 private:
  // Few, so that a batch of large messages passes its size by little.
  static constexpr size_t kTakenAtOnce = 8;

  std::mutex mutex_;
  std::deque<Message> waiting_;
  bool is_writing_ = false;
  bool is_ended_ = false;
  bool is_finished_ = false;
};

}  // namespace crossdock
