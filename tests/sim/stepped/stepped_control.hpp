// The control plane of a stepped world: the product's controller and agents, with messages that take time.
//
// Messages of a connection keep their order. An agent whose connection breaks connects again; a controller that dies is
// started again, in another epoch, and learns from its agents what there is. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/agent/agent.hpp"
#include "control/controller/controller.hpp"
#include "sim/virtual_clock.hpp"
#include "topology/graph.hpp"

namespace crossdock::sim {

class SteppedControl {
 public:
  // A host for each server of the graph; all outlive this.
  SteppedControl(VirtualClock& clock,
                 const topology::InfrastructureGraph& graph,
                 double latency_s,
                 const std::vector<control::ChannelHost*>& hosts);
  ~SteppedControl();

  // Requests are answered once, or not at all if the controller dies before.
  void ask(control::Request request, std::function<void(const control::Reply&)> answered);
  void break_link(uint32_t server);
  void kill_agent(uint32_t server);
  void kill_controller();
  // No more ticks: the clock runs out of events.
  void stop() { is_stopped_ = true; }

  bool is_joined(uint32_t server) const { return servers_[server].agent->is_joined(); }
  uint64_t messages() const { return messages_; }

 private:
  struct Server {
    std::unique_ptr<control::Agent> agent;
    control::LinkId link = 0;  // 0: none
    bool is_dead = false;
  };

  void start_controller();
  void connect(uint32_t server);
  void disconnect(uint32_t server);
  void pump_agent(uint32_t server);
  void pump_controller();
  void take(uint32_t server, control::LinkId link, control::ControllerMessage message);
  void tick_agents();
  void tick_controller(uint64_t life);

  VirtualClock& clock_;
  const double latency_s_;
  std::vector<Server> servers_;
  std::unique_ptr<control::Controller> controller_;
  uint64_t life_ = 0;  // of the controller
  control::LinkId last_link_ = 0;
  control::CallId last_call_ = 0;
  std::map<control::LinkId, uint32_t> server_of_;
  std::map<control::CallId, std::function<void(const control::Reply&)>> calls_;
  uint64_t messages_ = 0;
  bool is_stopped_ = false;
};

}  // namespace crossdock::sim
