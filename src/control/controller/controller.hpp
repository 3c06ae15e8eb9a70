// The controller: knows the machines, plans channels, and tells every agent its part (MGI, sections 3.2 and 4).
//
// A state machine without threads, clocks, sockets or disks: messages, requests and the time come in, messages and
// replies go out through an outbox. control/rpc drives it over gRPC, tests one message at a time. It holds nothing
// that cannot be lost: what it knows is rebuilt from what agents report when they join.
//
// A channel opens when every agent that has an endpoint of it said that its part is set up, and only then is the
// application answered. If one of them refuses, is lost, or does not answer in time, the others are asked to close
// their parts and the application learns the cause. A request that is repeated with the same id joins the first one.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "control/protocol/messages.hpp"

namespace crossdock::control {

// A connection of an agent; never used twice by the controller's driver.
using LinkId = uint64_t;
using CallId = uint64_t;  // a request that waits for its reply; likewise

struct ControllerSettings {
  double heartbeat_s = 1;
  double lost_after_s = 5;     // of silence, or of being away
  double apply_within_s = 10;  // an agent that has not set up its part by then has refused it
  // After a start: channels whose agents have not all come back by then are closed. 0: nothing is there to come back.
  double recover_within_s = 30;
  uint32_t agents_max = 65'536;
  uint32_t endpoints_max = 65'536;
  uint32_t channels_max = 65'536;
  uint32_t calls_max = 16'384;  // requests that wait for their reply
};

// Error kInvalidArgument: a time that is infinite or below a millisecond (but recover_within_s may be 0), lost_after_s
// below two heartbeats, a limit of 0 or above 65,536.
Status check_controller_settings(const ControllerSettings& settings);

// What the controller wants done, in this order: messages, then replies, then links to be closed once their messages
// are out.
struct ControllerOutbox {
  std::vector<std::pair<LinkId, ControllerMessage>> messages;
  std::vector<std::pair<CallId, Reply>> replies;
  std::vector<LinkId> closing;
};

// Not thread-safe. Times are seconds of a steady clock that never goes back; its zero is anywhere.
//
// Cost: a creation takes time in proportion to its endpoints and its servers, and a logarithm of all channels; the
// graph is put together again, in proportion to all servers, when agents came or went since the last creation; a tick,
// a status and a request that names an agent who is not there look at every agent once. Memory is linear in agents,
// in endpoints, and in the ends of channels.
class Controller {
 public:
  // CD_CHECK: settings that check_controller_settings() refuses; an epoch of 0.
  Controller(ControllerSettings settings, Epoch epoch, double now_s);
  ~Controller();
  Controller(Controller&&) noexcept;

  // The first message of a link must be Join; anything else is answered by Leave (CD-613).
  void on_message(LinkId link, AgentMessage message, double now_s);
  void on_link_closed(LinkId link, double now_s);

  // Exactly one reply per call, now or later. A call whose application is gone may be forgotten; what it asked for
  // happens nevertheless. kControllerUnreachable: agents that may know more have not come back since a restart; the
  // request did nothing, and is to be repeated.
  void on_request(CallId call, Request request, double now_s);
  void on_call_abandoned(CallId call);

  // To be called at least every `heartbeat_s`: finds out who is lost and what is overdue. No time limit counts more
  // than a heartbeat between two calls, whatever the clock says: a controller that slept has not listened.
  void on_tick(double now_s);

  // Since the last call.
  ControllerOutbox take_outbox();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace crossdock::control
