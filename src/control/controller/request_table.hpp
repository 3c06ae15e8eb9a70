// What requests led to, so that a repetition is answered like the first.
//
// A request that made an endpoint or a channel is known as long as that exists, and for a while after: the table holds
// the last kFinishedRequestsMax that came to an end, and forgets the oldest first. It is not rebuilt when a
// controller is restarted, unlike what agents report. So a repetition that arrives later than that many others, or
// after a restart, when what it led to has ended long ago, is taken for a new request. Requests that were refused at
// once are not remembered: they left nothing behind and may be tried again. Not thread-safe; O(1).
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <unordered_map>
#include <variant>

#include "base/result.hpp"
#include "control/protocol/messages.hpp"

namespace crossdock::control {

class RequestTable {
 public:
  static constexpr size_t kFinishedRequestsMax = 65'536;

  // What a request led to: something that is there, or why it is not there any more.
  using Outcome = std::variant<EndpointId, ChannelId, Error>;

  bool knows(RequestId request) const { return outcomes_.contains(request); }
  // The endpoint or channel that the request led to, or the error that a repetition is answered with. Nothing for a
  // request that is not known.
  template <class Id>
  std::optional<Result<Id>> find(RequestId request) const;
  // For a repetition that asks for something else than the first.
  static Error used_before(RequestId request);

  // Requests that are none are not entered.
  void begin(RequestId request, Outcome outcome);
  void finish(RequestId request, Error why_gone);
  void forget(RequestId request) { outcomes_.erase(request); }

 private:
  std::unordered_map<RequestId, Outcome> outcomes_;
  std::deque<RequestId> finished_;  // in the order in which they came to an end
};

template <class Id>
std::optional<Result<Id>> RequestTable::find(RequestId request) const {
  const auto outcome = outcomes_.find(request);
  if (outcome == outcomes_.end()) return std::nullopt;
  if (const auto* error = std::get_if<Error>(&outcome->second)) return *error;
  if (const auto* id = std::get_if<Id>(&outcome->second)) return *id;
  return used_before(request);
}

}  // namespace crossdock::control
