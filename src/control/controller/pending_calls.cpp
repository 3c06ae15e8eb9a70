#include "control/controller/pending_calls.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace crossdock::control {

void PendingCalls::begin(CallId call) {
  const bool is_new = topic_of_.emplace(call, Topic()).second;
  CD_CHECK(is_new, "call {}", call);
}

void PendingCalls::leave_topic(CallId call, Topic topic) {
  const auto [first, last] = waiting_.equal_range(topic);
  const auto waiting =
      std::find_if(first, last, [&](const auto& one) { return one.second == call; });
  if (waiting != last) waiting_.erase(waiting);
}

void PendingCalls::abandon(CallId call) {
  const auto entry = topic_of_.find(call);
  if (entry == topic_of_.end()) return;
  leave_topic(call, entry->second);
  topic_of_.erase(entry);
}

void PendingCalls::wait(CallId call, Topic topic) {
  if (!is_pending(call)) return;
  Topic& current = topic_of_[call];
  leave_topic(call, current);
  current = topic;
  waiting_.emplace(topic, call);
}

void PendingCalls::reply(CallId call, Reply reply) {
  if (!is_pending(call)) return;
  abandon(call);
  replies_.emplace_back(call, std::move(reply));
}

void PendingCalls::answer(Topic topic, const Reply& reply) {
  const auto [first, last] = waiting_.equal_range(topic);
  const size_t before = replies_.size();
  for (auto one = first; one != last; ++one) {
    topic_of_.erase(one->second);
    replies_.emplace_back(one->second, reply);
  }
  waiting_.erase(first, last);
  // In the order in which they came, whatever the hash table made of it.
  std::sort(replies_.begin() + static_cast<std::ptrdiff_t>(before),
            replies_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

}  // namespace crossdock::control
