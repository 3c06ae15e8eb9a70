// Where requests of applications go: to the controller itself, or through an agent to its controller.
#pragma once

#include <cstdint>
#include <functional>

#include "control/protocol/messages.hpp"

namespace crossdock::control {

// Thread-safe.
class RequestTarget {
 public:
  using Answer = std::function<void(Reply)>;
  using Ticket = uint64_t;  // never 0

  virtual ~RequestTarget() = default;

  // Calls `answer` at most once, from any thread, perhaps before it returns. What is not answered within `within_s`
  // need not be answered at all.
  virtual Ticket ask(Request request, double within_s, Answer answer) = 0;
  // The caller does not wait for the answer any more. It does not begin after this has returned, but may still be under
  // way then.
  virtual void abandon(Ticket ticket) = 0;
};

}  // namespace crossdock::control
