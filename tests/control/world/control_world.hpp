// A small cluster in which everything goes wrong: a controller, agents, and applications that ask for things, driven
// one message at a time from one seed, in virtual time.
//
// Messages of different links arrive in any order. Links break, and the two ends notice at different times. The
// controller is killed, restarted and put to sleep; agents are killed, restarted, frozen, and imitated by
// others of their name. Requests are repeated and abandoned. After every step and once all is quiet, expectations are
// checked: what the control plane promises, in terms of what hosts of channels saw.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "control/agent/agent.hpp"
#include "control/controller/controller.hpp"

namespace crossdock::control {

// What all hosts of a world saw of a channel.
struct ChannelHistory {
  RequestId request;
  std::set<std::string> involved;  // servers
  std::set<std::string> opened;    // servers on which it was set up at some time
  bool was_closed = false;         // on one of them, or that one ended
  std::string cause;
};
using Histories = std::map<ChannelId, ChannelHistory>;

// Keeps channels as ids, and refuses some.
class WorldHost : public ChannelHost {
 public:
  WorldHost(Histories& histories, std::mt19937_64& random, double refused)
      : histories_(histories), random_(random), refused_(refused) {}

  Status open(std::shared_ptr<const ServerPart> part) override;
  void close(ChannelId channel, const Error& cause) override;
  // The process ends without a word.
  void die();

  const std::map<ChannelId, std::shared_ptr<const ServerPart>>& open_parts() const {
    return parts_;
  }

 private:
  Histories& histories_;
  std::mt19937_64& random_;
  double refused_;
  bool is_dead_ = false;
  std::map<ChannelId, std::shared_ptr<const ServerPart>> parts_;
};

struct WorldOptions {
  uint64_t seed = 1;
  int servers = 3;
  // Faults are short, nothing dies for good but the controller, and no host refuses: then nothing that was acknowledged
  // may be lost.
  bool is_gentle = false;
  ControllerSettings settings;
};

class ControlWorld {
 public:
  explicit ControlWorld(WorldOptions options);
  ~ControlWorld();

  void run(int steps);
  // No more faults: everybody comes back, time passes until nothing moves, and what is left is checked.
  void settle();

  // Without faults: replies at once or a failed expectation.
  EndpointId endpoint(const std::string& agent, const std::string& vertex);
  Reply ask(Request request);
  void deliver_all();
  const WorldHost& host(const std::string& name) const;
  const Histories& histories() const { return histories_; }
  // Channels that were acknowledged, and those of them that are open.
  size_t acknowledged() const { return acknowledged_.size(); }
  size_t open() const;
  // What happened, for the message of a failed expectation.
  std::string story() const;

 private:
  struct Server {
    std::string name;
    std::unique_ptr<WorldHost> host;
    std::unique_ptr<Agent> agent;  // null: not running
    bool is_frozen = false;
    uint64_t link = 0;  // 0: none
    double unlinked_since_s = 0;
  };
  struct Link {
    size_t server = 0;
    std::deque<AgentMessage> up;
    std::deque<ControllerMessage> down;
    bool has_agent = true;       // that end is open
    bool has_controller = true;  // likewise
  };

  bool lives(const std::string& name) const;
  size_t pick(size_t count) { return random_() % count; }
  bool chance(double probability) {
    return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
  }
  void note(std::string text);

  void start_controller();
  void kill_controller();
  void start_agent(Server& server);
  void kill_agent(Server& server);
  void connect(Server& server);
  void cut(uint64_t link);
  void agent_notices(uint64_t link);
  void controller_notices(uint64_t link);
  void forget_dead_links();

  void step();
  void fault();
  void step_message();
  void tick(double seconds);
  void keep_gentle();
  bool deliver_up(uint64_t link);
  bool deliver_down(uint64_t link);
  void pump_controller();
  void pump_agent(Server& server);
  void heed_refusal(Server& server);

  CallId send(Request request);
  void ask_anything();
  Request random_request();
  void on_reply(CallId call, const Reply& reply);
  void on_channel_open(RequestId request, ChannelId channel);

  void check_quiet();
  void check_channels(const ControlStatus& status);
  void check_promises();
  bool may_not_come_back(ChannelId channel) const;
  bool is_open_everywhere(const ChannelHistory& history, ChannelId channel) const;

  WorldOptions options_;
  std::mt19937_64 random_;
  double now_s_ = 100;
  double flushed_s_ = 0;
  std::shared_ptr<const topology::ServerShape> shape_;
  Histories histories_;
  std::unique_ptr<Controller> controller_;
  double controller_gone_s_ = 0;
  std::vector<std::unique_ptr<Server>> servers_;
  std::map<uint64_t, Link> links_;
  uint64_t last_link_ = 0, last_call_ = 0, last_instance_ = 0, last_epoch_ = 0;

  std::map<CallId, Request> calls_;  // that wait for their reply
  std::map<CallId, Reply> replies_;
  std::vector<Request> asked_;  // creations, to be repeated
  std::map<RequestId, ChannelId> acknowledged_;
  std::map<EndpointId, std::string> endpoints_;  // acknowledged, by agent
  std::set<ChannelId> to_delete_;
  // Deleted, with the epochs there were until then. If one of its agents was out of reach and had been given up, a
  // controller that is started later, and knows nothing of that, may take the channel for open when the agent is back.
  std::map<ChannelId, uint64_t> deleted_, deleted_out_of_reach_;
  std::set<EndpointId> endpoints_to_delete_;
  std::deque<std::string> story_;
};

}  // namespace crossdock::control
