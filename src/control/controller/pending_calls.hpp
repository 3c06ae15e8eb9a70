// Requests that wait for their reply, by what they wait for.
//
// Each call gets one reply, and none after it was abandoned. Not thread-safe; every operation is O(1), but answer() per
// call answered, and abandon() looks through the calls that wait for the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "control/controller/controller.hpp"

namespace crossdock::control {

// What a call waits for: an endpoint to be held or gone, a channel to be open or gone; at first, to be served.
struct Topic {
  enum class Event : uint8_t { kServed, kEndpointHeld, kEndpointGone, kChannelOpen, kChannelGone };
  Event event = Event::kServed;
  uint64_t id = 0;

  bool operator==(const Topic&) const = default;
};

struct TopicHash {
  size_t operator()(const Topic& topic) const {
    return std::hash<uint64_t>()(topic.id * 8 + static_cast<uint64_t>(topic.event));
  }
};

class PendingCalls {
 public:
  size_t size() const { return topic_of_.size(); }

  // CD_CHECK: a call that is pending already.
  void begin(CallId call);
  void abandon(CallId call);
  bool is_pending(CallId call) const { return topic_of_.contains(call); }

  // The call now waits for `topic` and nothing else.
  void wait(CallId call, Topic topic);
  void reply(CallId call, Reply reply);
  // Answers all that wait for `topic`.
  void answer(Topic topic, const Reply& reply);

  std::vector<std::pair<CallId, Reply>> take_replies() { return std::exchange(replies_, {}); }

 private:
  void leave_topic(CallId call, Topic topic);

  std::unordered_map<CallId, Topic> topic_of_;  // of every pending call
  std::unordered_multimap<Topic, CallId, TopicHash> waiting_;
  std::vector<std::pair<CallId, Reply>> replies_;
};

}  // namespace crossdock::control
