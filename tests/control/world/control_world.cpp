// Who lives, which links hold, and what goes wrong in a world.
#include "control/world/control_world.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "topology/catalogue.hpp"

namespace crossdock::control {

// ---- hosts ---------------------------------------------------------------------------------------------------------

Status WorldHost::open(std::shared_ptr<const ServerPart> part) {
  const ChannelOutline& outline = *part->outline;
  if (std::uniform_real_distribution<double>(0, 1)(random_) < refused_) {
    return make_error(ErrorCode::kOutOfMemoryBudget, "no room for buffers");
  }
  EXPECT_FALSE(parts_.contains(outline.channel)) << "opened twice: " << text_of(outline.channel);
  ChannelHistory& history = histories_[outline.channel];
  history.request = outline.request;
  for (const PlannedServer& server : outline.servers) history.involved.insert(server.name);
  history.opened.insert(outline.servers[part->server].name);
  parts_[outline.channel] = std::move(part);
  return {};
}

void WorldHost::close(ChannelId channel, const Error& cause) {
  if (is_dead_) return;
  EXPECT_EQ(parts_.erase(channel), 1) << "closed, but not open: " << text_of(channel);
  EXPECT_FALSE(cause.message.empty());
  histories_[channel].was_closed = true;
  histories_[channel].cause = cause.message;
}

void WorldHost::die() {
  is_dead_ = true;
  for (const auto& [channel, part] : std::exchange(parts_, {})) {
    histories_[channel].was_closed = true;
    histories_[channel].cause = "its agent was killed";
  }
}

// ---- who lives -----------------------------------------------------------------------------------------------------

ControlWorld::ControlWorld(WorldOptions options) : options_(options), random_(options.seed) {
  auto graph = topology::make_machine("dgx-a100");
  EXPECT_TRUE(graph.ok());
  shape_ = graph.value().shape_at(0);
  start_controller();
  for (int i = 0; i < options_.servers; ++i) {
    servers_.push_back(std::make_unique<Server>());
    servers_.back()->name = fmt::format("node{}", i);
    start_agent(*servers_.back());
    connect(*servers_.back());
  }
}

ControlWorld::~ControlWorld() {
  for (const auto& server : servers_) server->host->die();
}

void ControlWorld::note(std::string text) {
  story_.push_back(fmt::format("{:7.2f} {}", now_s_, std::move(text)));
  if (story_.size() > 60) story_.pop_front();
}

std::string ControlWorld::story() const {
  return fmt::format("seed {}\n{}", options_.seed, fmt::join(story_, "\n"));
}

void ControlWorld::start_controller() {
  note("controller starts");
  controller_ = std::make_unique<Controller>(
      options_.settings, static_cast<Epoch>(0xe0000000 + ++last_epoch_ * 7919), now_s_);
}

void ControlWorld::kill_controller() {
  note("controller is killed");
  controller_.reset();
  controller_gone_s_ = now_s_;
  calls_.clear();  // their applications hear that no agent is there, and may ask again
  for (auto& [id, link] : links_) link.has_controller = false;
}

void ControlWorld::start_agent(Server& server) {
  server.host = std::make_unique<WorldHost>(histories_, random_, options_.is_gentle ? 0 : 0.03);
  server.agent = std::make_unique<Agent>(
      AgentSettings{server.name, AgentInstance{++last_instance_}}, shape_, *server.host);
  server.is_frozen = false;
  server.unlinked_since_s = now_s_;
}

void ControlWorld::kill_agent(Server& server) {
  note(server.name + " is killed");
  server.host->die();
  server.agent.reset();
  if (server.link) links_[server.link].has_agent = false;
  server.link = 0;
}

void ControlWorld::connect(Server& server) {
  server.link = ++last_link_;
  links_[server.link].server = static_cast<size_t>(
      std::ranges::find(servers_, &server, [](const auto& one) { return one.get(); }) -
      servers_.begin());
  server.agent->on_link_open(now_s_);
  pump_agent(server);
}

// ---- links ---------------------------------------------------------------------------------------------------------

void ControlWorld::cut(uint64_t id) {
  const Link& link = links_.at(id);
  note(fmt::format("link {} of {} is cut", id, servers_[link.server]->name));
  const size_t who = pick(3);
  if (who != 0) agent_notices(id);
  if (who != 1) controller_notices(id);
}

void ControlWorld::agent_notices(uint64_t id) {
  Link& link = links_.at(id);
  Server& server = *servers_[link.server];
  if (!link.has_agent) return;
  link.has_agent = false;
  link.down.clear();
  server.link = 0;
  server.unlinked_since_s = now_s_;
  server.agent->on_link_closed(now_s_);
}

void ControlWorld::controller_notices(uint64_t id) {
  Link& link = links_.at(id);
  if (!link.has_controller) return;
  link.has_controller = false;
  link.up.clear();
  controller_->on_link_closed(id, now_s_);
  pump_controller();
}

void ControlWorld::forget_dead_links() {
  std::erase_if(
      links_, [](const auto& one) { return !one.second.has_agent && !one.second.has_controller; });
}

bool ControlWorld::deliver_up(uint64_t id) {
  Link& link = links_.at(id);
  if (link.up.empty() || !link.has_controller || !controller_) return false;
  AgentMessage message = std::move(link.up.front());
  link.up.pop_front();
  controller_->on_message(id, std::move(message), now_s_);
  pump_controller();
  return true;
}

bool ControlWorld::deliver_down(uint64_t id) {
  Link& link = links_.at(id);
  Server& server = *servers_[link.server];
  if (link.down.empty() || !link.has_agent || server.is_frozen) return false;
  ControllerMessage message = std::move(link.down.front());
  link.down.pop_front();
  if (const auto* leave = std::get_if<Leave>(&message)) {
    note(fmt::format("{} has to leave: {}", server.name, leave->cause.message));
  }
  if (const auto* close = std::get_if<Close>(&message)) {
    note(fmt::format(
        "{} closes {}: {}", server.name, text_of(close->channel), close->cause.message));
  }
  server.agent->on_message(std::move(message), now_s_);
  pump_agent(server);
  heed_refusal(server);
  return true;
}

void ControlWorld::heed_refusal(Server& server) {
  const Error* const refusal = server.agent->refusal();
  if (!refusal || !server.link) return;
  const bool is_final = refusal->code == ErrorCode::kNameTaken;
  EXPECT_TRUE(server.host->open_parts().empty()) << "left, and has channels still";
  agent_notices(server.link);
  if (is_final) kill_agent(server);
}

void ControlWorld::pump_controller() {
  ControllerOutbox outbox = controller_->take_outbox();
  for (auto& [id, message] : outbox.messages) {
    const auto link = links_.find(id);
    if (link == links_.end() || !link->second.has_controller) continue;
    if (link->second.has_agent) link->second.down.push_back(std::move(message));
  }
  for (const auto& [call, reply] : outbox.replies) on_reply(call, reply);
  for (const LinkId id : outbox.closing) {
    const auto link = links_.find(id);
    if (link == links_.end()) continue;
    link->second.has_controller = false;
    if (chance(0.5)) controller_->on_link_closed(id, now_s_);
  }
}

void ControlWorld::pump_agent(Server& server) {
  for (AgentMessage& message : server.agent->take_outbox()) {
    ASSERT_NE(server.link, 0) << "a message without a link";
    Link& link = links_.at(server.link);
    if (link.has_controller) link.up.push_back(std::move(message));
  }
}

// ---- time ----------------------------------------------------------------------------------------------------------

void ControlWorld::tick(double seconds) {
  now_s_ += seconds;
  for (const auto& server : servers_) {
    if (!server->agent || server->is_frozen) continue;
    server->agent->on_tick(now_s_);
    if (server->link) pump_agent(*server);
    heed_refusal(*server);
  }
  if (!controller_) return;
  controller_->on_tick(now_s_);
  pump_controller();
}

void ControlWorld::deliver_all() {
  for (bool is_quiet = false; !is_quiet;) {
    is_quiet = true;
    for (uint64_t id = 1; id <= last_link_; ++id) {
      while (links_.contains(id) && (deliver_up(id) || deliver_down(id))) is_quiet = false;
    }
    for (uint64_t id = 1; id <= last_link_; ++id) {
      if (!links_.contains(id)) continue;
      const Link& link = links_.at(id);
      if (!link.has_controller && link.has_agent) agent_notices(id);
      if (link.has_controller && !link.has_agent && controller_) controller_notices(id);
    }
    forget_dead_links();
  }
  flushed_s_ = now_s_;
}

// ---- what happens --------------------------------------------------------------------------------------------------

void ControlWorld::run(int steps) {
  for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
    step();
    if (options_.is_gentle) keep_gentle();
  }
}

void ControlWorld::step() {
  const size_t kind = pick(100);
  if (kind < 60) {
    step_message();
  } else if (kind < 72) {
    tick(options_.is_gentle ? 0.1 : 0.03 * static_cast<double>(1 + pick(10)));
  } else if (kind < 90) {
    ask_anything();
  } else if (kind < 98 - (options_.is_gentle ? 2 : 0)) {
    for (const auto& server : servers_) {
      if (server->agent && !server->is_frozen && !server->link && chance(0.5)) connect(*server);
    }
  } else {
    fault();
  }
  forget_dead_links();
}

void ControlWorld::step_message() {
  if (links_.empty()) return;
  const uint64_t id =
      std::next(links_.begin(), static_cast<std::ptrdiff_t>(pick(links_.size())))->first;
  const size_t burst = 1 + pick(4);
  const bool is_up = chance(0.5);
  for (size_t i = 0; i < burst && links_.contains(id); ++i)
    is_up ? deliver_up(id) : deliver_down(id);
  if (!links_.contains(id) || !chance(0.1)) return;
  const Link& link = links_.at(id);
  if (!link.has_controller && link.down.empty()) agent_notices(id);
  if (!link.has_agent && link.up.empty() && controller_) controller_notices(id);
}

bool ControlWorld::lives(const std::string& name) const {
  return std::ranges::any_of(servers_,
                             [&](const auto& one) { return one->name == name && one->agent; });
}

void ControlWorld::fault() {
  Server& server = *servers_[pick(servers_.size())];
  const size_t kind = pick(options_.is_gentle ? 6 : 11);
  if (kind < 3) {
    if (server.link && controller_) cut(server.link);
  } else if (kind == 3) {
    controller_ ? kill_controller() : start_controller();
  } else if (!controller_) {
    start_controller();
  } else if (kind == 5) {
    note("the controller sleeps");
    for (int i = 0; i < 80; ++i) {  // 20 s in which agents go on
      now_s_ += 0.25;
      for (const auto& one : servers_) {
        if (!one->agent || one->is_frozen) continue;
        one->agent->on_tick(now_s_);
        if (one->link) pump_agent(*one);
      }
    }
  } else if (kind == 6 || kind == 7) {
    if (server.agent && chance(0.5)) {
      kill_agent(server);
    } else if (!server.agent && !lives(server.name)) {
      note(server.name + " is started");
      start_agent(server);
    }
  } else if (kind == 8 || kind == 9) {
    server.is_frozen = server.agent && !server.is_frozen;
    note(server.name + (server.is_frozen ? " freezes" : " wakes"));
  } else if (kind == 10 && servers_.size() < 6) {
    note("another " + server.name + " is started");
    servers_.push_back(std::make_unique<Server>());
    servers_.back()->name = server.name;
    start_agent(*servers_.back());
    connect(*servers_.back());
  }
}

// No agent is out of reach for longer than the settings allow.
void ControlWorld::keep_gentle() {
  if (!controller_ && now_s_ - controller_gone_s_ > 1) start_controller();
  if (now_s_ - flushed_s_ < 1) return;
  for (const auto& server : servers_) {
    if (!server->link && controller_) connect(*server);
  }
  deliver_all();
}

}  // namespace crossdock::control
