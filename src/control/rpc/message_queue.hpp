// Messages that wait to be written to one connection: bounded, in order, and joined into one wire message for all that
// wait while the one before is written. A wire message above the size of a batch holds a single message.
//
// Any thread puts; at most one at a time has the turn to write, which it takes with begin() and keeps until advance()
// says that there is nothing more. Encoding is done by the thread that has the turn, outside of the lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "control/rpc/control_wire.hpp"

namespace crossdock::control {

inline constexpr size_t kQueuedMessagesMax = 131'072;       // that wait for one connection
inline constexpr int64_t kBatchBytes = int64_t{256} << 10;  // that messages are joined up to

template <class Message>
class MessageQueue {
 public:
  // `message_bytes_max` is what a wire message may hold, where that is less than a batch.
  explicit MessageQueue(int64_t message_bytes_max)
      : batch_bytes_(static_cast<size_t>(std::min(kBatchBytes, message_bytes_max))) {}

  enum class Next : uint8_t {
    kNothing,  // the turn is given back, or was not to be had
    kWrite,    // `bytes` are to be written, then advance() is to be called
    kFinish,   // everything is written and end() was called: said once, and nothing follows
  };

  // False if the queue is full: the reader does not keep up. A queue that has ended takes and drops.
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
    if (!at_once) return;
    is_cut_ = true;
    waiting_.clear();
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
    bytes.clear();
    bytes.swap(carried_);
    while (true) {
      std::optional<Message> taken;
      {
        const std::lock_guard held(mutex_);
        if (is_cut_) bytes.clear();
        if (waiting_.empty()) {
          if (!bytes.empty()) return Next::kWrite;
          is_writing_ = false;
          if (!is_ended_) return Next::kNothing;
          is_finished_ = true;
          return Next::kFinish;
        }
        if (bytes.size() >= batch_bytes_) return Next::kWrite;
        taken.emplace(std::move(waiting_.front()));
        waiting_.pop_front();
      }
      const size_t before = bytes.size();
      append_message(*taken, bytes);
      if (before > 0 && bytes.size() > batch_bytes_) {
        carried_.assign(bytes, before);
        bytes.resize(before);
        return Next::kWrite;
      }
    }
  }

 private:
  const size_t batch_bytes_;
  std::string carried_;  // encoded already, for the next batch; of the thread that has the turn
  std::mutex mutex_;
  std::deque<Message> waiting_;
  bool is_writing_ = false;
  bool is_ended_ = false;
  bool is_cut_ = false;  // ended at once
  bool is_finished_ = false;
};

}  // namespace crossdock::control
