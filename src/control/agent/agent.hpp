// The agent: what Crossdock is on one server. It reports the server's graph, sets up and takes down its part of each
// channel, and keeps what it holds when the controller goes away (MGI, sections 3.2 and 4.2).
//
// A state machine like the controller: no threads, clocks or sockets. While there is no controller, open channels stay
// open; when one is there again, the agent joins with a report of what it holds. An agent that has to leave closes
// everything first: the controller has given it up, and others have closed their parts. It does the same when it finds
// that it was asleep for longer than the controller waits. After that it may join again.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/protocol/messages.hpp"

namespace crossdock::control {

// What sets up buffers and executors: the data plane. Called by one agent, from the thread that drives it.
class ChannelHost {
 public:
  virtual ~ChannelHost() = default;

  // Ready to send and receive when it returns; an error leaves nothing behind. Never called twice for one channel
  // without a close() between. The driver of the agent waits for it and says nothing meanwhile: what it takes
  // counts as sleep, and an agent that sleeps for nearly lost_after_s leaves. So it should take a small part of a
  // heartbeat, also for many channels at once.
  virtual Status open(std::shared_ptr<const ServerPart> part) = 0;
  // Gives everything back. Senders and receivers of the channel get `cause`.
  virtual void close(ChannelId channel, const Error& cause) = 0;
  // The agent has an endpoint from now on, or has it no longer.
  virtual void hold(const HeldEndpoint&) {}
  virtual void drop(const HeldEndpoint&) {}
};

struct AgentSettings {
  // The server's name in the graph: unique among agents, at most kNameBytesMax bytes.
  std::string name;
  AgentInstance instance;
  // About what a report of endpoints and channels may take: a channel beyond it is refused with kControlLimit. An agent
  // whose report no message can hold could never join again, so this is at most half of what one may hold.
  size_t report_bytes_max = size_t{32} << 20;
};

// Not thread-safe. Times as in Controller. A link is the one connection to the controller, if there is one.
class Agent {
 public:
  // `host` must outlive the agent.
  Agent(AgentSettings settings,
        std::shared_ptr<const topology::ServerShape> shape,
        ChannelHost& host);
  // Closes what is open.
  ~Agent();

  void on_link_open(double now_s);  // the outbox then starts with JoinRequest
  void on_link_closed(double now_s);
  void on_message(ControllerMessage message, double now_s);
  void on_tick(double now_s);  // at least ten times per heartbeat

  std::vector<AgentMessage> take_outbox();

  // Why the last link is over although it was not closed: the controller said Leave, or something that makes no sense,
  // or the agent overslept. The link is then to be closed. Null again from the next on_link_open; kNameTaken is final
  // until an operator intervenes.
  const Error* refusal() const;
  bool is_joined() const;
  std::vector<HeldEndpoint> endpoints() const;
  std::vector<std::shared_ptr<const ServerPart>> channels() const;  // that are open here, by id

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace crossdock::control
