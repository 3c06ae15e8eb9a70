// What applications ask of an agent that listens: it answers for its own server, and passes the rest on.
//
// An endpoint that an application keeps (KeepEndpoint) goes when the application does, killed or not: a thread then
// asks the controller to delete the channels that name it, and the endpoint, again and again until it has answered. The
// thread sleeps while there is nothing to delete. Channels that are deleted this way are over already, since a process
// of theirs is gone, or through. An application keeps an endpoint before it asks for it, so none is made that no
// application keeps; of those that are still awaited when the application has gone the last 4,096 are known.
#pragma once

#include <memory>
#include <string>

#include "control/rpc/control_client.hpp"
#include "control/rpc/plan_ledger.hpp"
#include "control/rpc/request_target.hpp"

namespace crossdock::control {

class AgentRequests final : public RequestTarget {
 public:
  // `controller` and `ledger` must outlive it; of the ledger there is one such object at a time.
  AgentRequests(ControlClient& controller,
                PlanLedger& ledger,
                std::string name,
                std::shared_ptr<const topology::ServerShape> shape);
  ~AgentRequests() override;

  Ticket ask(Request request, double within_s, Answer answer) override;
  void abandon(Ticket ticket) override;
  // Nothing is deleted from now on: the agent ends, and applications go on without it.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace crossdock::control
