// Outboxes become events.
#include "sim/stepped/stepped_control.hpp"

#include <utility>

namespace crossdock::sim {
namespace {

// Clocks have run before.
constexpr double kControlClock = 100;
constexpr double kAgentTickS = 0.05;
constexpr double kConnectAgainS = 0.25;
constexpr double kStartAgainS = 0.5;
constexpr uint64_t kEpochs = 0xe000'0000;
constexpr uint64_t kEpochStep = 7919;

}  // namespace

SteppedControl::SteppedControl(VirtualClock& clock,
                               const topology::InfrastructureGraph& graph,
                               double latency_s,
                               const std::vector<control::ChannelHost*>& hosts)
    : clock_(clock), latency_s_(latency_s), servers_(hosts.size()) {
  start_controller();
  for (uint32_t server = 0; server < servers_.size(); ++server) {
    control::AgentSettings settings;
    settings.name = graph.server_name(server);
    settings.instance = control::AgentInstance{server + uint64_t{1}};
    servers_[server].agent = std::make_unique<control::Agent>(
        std::move(settings), graph.shape_at(graph.shape_index(server)), *hosts[server]);
    connect(server);
  }
  tick_agents();
}

SteppedControl::~SteppedControl() = default;

void SteppedControl::start_controller() {
  control::ControllerSettings settings;
  settings.recover_within_s = life_ == 0 ? 0 : 5;
  const auto epoch = static_cast<control::Epoch>(kEpochs + ++life_ * kEpochStep);
  controller_ =
      std::make_unique<control::Controller>(settings, epoch, kControlClock + clock_.now_s());
  tick_controller(life_);
}

void SteppedControl::tick_controller(uint64_t life) {
  if (is_stopped_ || life != life_ || controller_ == nullptr) return;
  controller_->on_tick(kControlClock + clock_.now_s());
  pump_controller();
  clock_.at(clock_.now_s() + control::ControllerSettings{}.heartbeat_s,
            [this, life] { tick_controller(life); });
}

void SteppedControl::tick_agents() {
  if (is_stopped_) return;
  for (uint32_t server = 0; server < servers_.size(); ++server) {
    if (servers_[server].is_dead) continue;
    servers_[server].agent->on_tick(kControlClock + clock_.now_s());
    pump_agent(server);
  }
  clock_.at(clock_.now_s() + kAgentTickS, [this] { tick_agents(); });
}

void SteppedControl::connect(uint32_t server) {
  Server& server_state = servers_[server];
  if (server_state.is_dead || server_state.link != 0 || is_stopped_) return;
  if (controller_ == nullptr) {
    clock_.at(clock_.now_s() + kConnectAgainS, [this, server] { connect(server); });
    return;
  }
  server_state.link = ++last_link_;
  server_of_[server_state.link] = server;
  server_state.agent->on_link_open(kControlClock + clock_.now_s());
  pump_agent(server);
}

// The agent notices at once, the controller when its end has.
void SteppedControl::disconnect(uint32_t server) {
  Server& server_state = servers_[server];
  if (server_state.link == 0) return;
  const control::LinkId link = std::exchange(server_state.link, 0);
  server_of_.erase(link);
  clock_.at(clock_.now_s() + latency_s_, [this, link, life = life_] {
    if (controller_ == nullptr || life != life_) return;
    controller_->on_link_closed(link, kControlClock + clock_.now_s());
    pump_controller();
  });
}

void SteppedControl::break_link(uint32_t server) {
  Server& server_state = servers_[server];
  if (server_state.is_dead || server_state.link == 0) return;
  disconnect(server);
  server_state.agent->on_link_closed(kControlClock + clock_.now_s());
  pump_agent(server);
  clock_.at(clock_.now_s() + kConnectAgainS, [this, server] { connect(server); });
}

void SteppedControl::kill_agent(uint32_t server) {
  disconnect(server);
  servers_[server].is_dead = true;
}

void SteppedControl::kill_controller() {
  if (controller_ == nullptr) return;
  controller_.reset();
  calls_.clear();
  for (uint32_t server = 0; server < servers_.size(); ++server) break_link(server);
  clock_.at(clock_.now_s() + kStartAgainS, [this] {
    if (!is_stopped_) start_controller();
  });
}

void SteppedControl::ask(control::Request request,
                         std::function<void(const control::Reply&)> answered) {
  if (controller_ == nullptr) return;
  const control::CallId call = ++last_call_;
  calls_.emplace(call, std::move(answered));
  clock_.at(clock_.now_s() + latency_s_,
            [this, call, life = life_, request = std::move(request)]() mutable {
              if (controller_ == nullptr || life != life_) return;
              controller_->on_request(call, std::move(request), kControlClock + clock_.now_s());
              pump_controller();
            });
}

void SteppedControl::pump_agent(uint32_t server) {
  Server& server_state = servers_[server];
  for (control::AgentMessage& message : server_state.agent->take_outbox()) {
    if (server_state.link == 0) continue;
    ++messages_;
    clock_.at(
        clock_.now_s() + latency_s_,
        [this, link = server_state.link, life = life_, message = std::move(message)]() mutable {
          if (controller_ == nullptr || life != life_) return;
          controller_->on_message(link, std::move(message), kControlClock + clock_.now_s());
          pump_controller();
        });
  }
  if (server_state.agent->refusal() == nullptr || server_state.link == 0) return;
  disconnect(server);
  server_state.agent->on_link_closed(kControlClock + clock_.now_s());
  clock_.at(clock_.now_s() + kConnectAgainS, [this, server] { connect(server); });
}

void SteppedControl::pump_controller() {
  control::ControllerOutbox outbox = controller_->take_outbox();
  for (auto& [link, message] : outbox.messages) {
    const auto to = server_of_.find(link);
    if (to == server_of_.end()) continue;
    ++messages_;
    clock_.at(clock_.now_s() + latency_s_,
              [this, server = to->second, link = link, message = std::move(message)]() mutable {
                take(server, link, std::move(message));
              });
  }
  for (auto& [call, reply] : outbox.replies) {
    const auto waits = calls_.find(call);
    if (waits == calls_.end()) continue;
    clock_.at(clock_.now_s() + latency_s_,
              [answered = std::move(waits->second), reply = std::move(reply)] { answered(reply); });
    calls_.erase(waits);
  }
  for (const control::LinkId link : outbox.closing) {
    const auto to = server_of_.find(link);
    if (to == server_of_.end()) continue;
    clock_.at(clock_.now_s() + latency_s_, [this, server = to->second, link] {
      if (servers_[server].link == link) break_link(server);
    });
  }
}

void SteppedControl::take(uint32_t server,
                          control::LinkId link,
                          control::ControllerMessage message) {
  Server& server_state = servers_[server];
  if (server_state.is_dead || server_state.link != link) return;
  server_state.agent->on_message(std::move(message), kControlClock + clock_.now_s());
  pump_agent(server);
}

}  // namespace crossdock::sim
