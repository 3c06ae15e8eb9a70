// Requests of applications over gRPC, to a controller or to an agent that passes them on.
//
// A call that the network lost is repeated with the same request id until its time is over, so nothing is made twice.
#pragma once

#include <functional>
#include <memory>

#include "base/result.hpp"
#include "control/rpc/request_target.hpp"
#include "control/rpc/rpc_settings.hpp"

namespace crossdock::control {

// 128 random bits of the system.
RequestId make_request_id();

// Thread-safe.
class ControlClient final : public RequestTarget {
 public:
  // Does not connect yet. those of check_rpc_settings.
  static Result<std::unique_ptr<ControlClient>> make(ClientSettings settings);
  ~ControlClient() override;  // cancels what is under way; not from within an answer

  // Waits for the reply, which is never an Error. `is_interrupted` is asked twenty times a second, and true ends the
  // call with kCancelled. Error kControllerUnreachable, with the address and the cause, after `within_s`; kNotAllowed;
  // kMalformedMessage for a message above the limit of either side; else what the controller answers.
  Result<Reply> call(const Request& request,
                     double within_s,
                     const std::function<bool()>& is_interrupted = {});
  // For requests that wait for others: kControllerUnreachable when all attempts have failed for `unreachable_s`, though
  // one that is under way may take all of `within_s`.
  struct Patience {
    double within_s = 0;
    double unreachable_s = 0;
    std::function<bool()> is_interrupted;
  };
  Result<Reply> call(const Request& request, const Patience& patience);

  // One attempt. The reply may be an Error, as above.
  Ticket ask(Request request, double within_s, Answer answer) override;
  void abandon(Ticket ticket) override;

 private:
  class State;
  explicit ControlClient(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace crossdock::control
