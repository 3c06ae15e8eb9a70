// Who was silent for too long, what is overdue, and what goes with an agent that is given up.
#include <vector>

#include <fmt/ranges.h>

#include "control/controller/controller_state.hpp"

namespace crossdock::control {

double Controller::State::set_deadline(Deadline::Kind kind, uint64_t id) {
  deadlines_.push_back({listened_s_ + settings_.apply_within_s, kind, id});
  return deadlines_.back().at_s;
}

void Controller::State::on_tick(double now_s) {
  advance(now_s);
  find_silent();
  find_overdue();
  meetings_.tick(listened_s_);
  if (is_recovering_ && listened_s_ >= settings_.recover_within_s) end_recovery();
}

void Controller::State::find_silent() {
  std::vector<AgentRecord*> silent;
  for (const auto& [name, agent] : agents_.all()) {
    if (listened_s_ - agent->heard_s > settings_.lost_after_s) silent.push_back(agent.get());
  }
  for (AgentRecord* const agent : silent) {
    give_up(*agent,
            make_error(ErrorCode::kAgentLost,
                       "agent '{}' {} for {:.1f} s, longer than {} s; see whether its server "
                       "runs and can be reached, and create again what it took part in when it "
                       "is back",
                       agent->name,
                       agent->link ? "was silent" : "was away",
                       listened_s_ - agent->heard_s,
                       settings_.lost_after_s));
  }
}

void Controller::State::on_overdue_apply(Channels::iterator place) {
  constexpr size_t kNamed = 3;
  const ChannelRecord& record = place->second;
  std::vector<std::string> late;
  size_t count = 0;
  for (size_t i = 0; i < record.parts.size(); ++i) {
    if (record.parts[i] != PartState::kSent) continue;
    if (++count <= kNamed) late.push_back(record.servers[i]);
  }
  begin_close(place,
              make_error(ErrorCode::kAgentLost,
                         "{} of {} agents did not set up their part of channel {} within {} s: "
                         "{}{}; see what keeps them, and create the channel again",
                         count,
                         record.servers.size(),
                         text_of(place->first),
                         settings_.apply_within_s,
                         fmt::join(late, ", "),
                         count > kNamed ? ", ..." : ""));
}

// One that is away, or came back a moment ago, has not had the time that it is given: how long it may be away is what
// lost_after_s says.
bool Controller::State::had_its_time(const AgentRecord& agent) const {
  return agent.link && listened_s_ >= agent.attached_s + settings_.apply_within_s;
}

void Controller::State::on_overdue_hold(EndpointId id,
                                        double due_s,
                                        std::vector<std::string>& stuck) {
  const auto known = endpoints_.find(id);
  if (known == endpoints_.end() || known->second.state == EndpointRecord::State::kHeld) return;
  EndpointRecord& record = known->second;
  if (due_s < record.due_s) return;
  if (had_its_time(*record.agent)) return stuck.push_back(record.agent->name);
  record.due_s = set_deadline(Deadline::Kind::kHold, id.value);
}

void Controller::State::on_overdue_close(Channels::iterator place,
                                         std::vector<std::string>& stuck) {
  const ChannelRecord& record = place->second;
  bool is_another_due = false;
  for (size_t i = 0; i < record.parts.size(); ++i) {
    if (record.parts[i] == PartState::kGone) continue;
    const AgentRecord* const agent = agents_.find(record.servers[i]);
    if (record.parts[i] == PartState::kEnding && agent && had_its_time(*agent)) {
      stuck.push_back(agent->name);
    } else {
      is_another_due = true;
    }
  }
  if (is_another_due) set_deadline(Deadline::Kind::kClose, place->first.value);
}

void Controller::State::on_overdue(const Deadline& due, std::vector<std::string>& stuck) {
  if (due.kind == Deadline::Kind::kHold) return on_overdue_hold({due.id}, due.at_s, stuck);
  const auto known = channels_.find({due.id});
  if (known == channels_.end()) return;
  if (due.kind == Deadline::Kind::kClose) return on_overdue_close(known, stuck);
  if (known->second.state == ChannelState::kOpening) on_overdue_apply(known);
}

void Controller::State::find_overdue() {
  std::vector<std::string> stuck;
  while (!deadlines_.empty() && deadlines_.front().at_s <= listened_s_) {
    const Deadline due = deadlines_.front();
    deadlines_.pop_front();
    on_overdue(due, stuck);
  }
  // No request can wait for ever for an agent that speaks and does nothing.
  for (const std::string& name : stuck) {
    AgentRecord* const agent = agents_.find(name);
    if (!agent) continue;
    give_up(*agent,
            make_error(ErrorCode::kAgentLost,
                       "agent '{}' was asked to close a channel or to keep an endpoint and did not "
                       "within {} s; restart it",
                       name,
                       settings_.apply_within_s));
  }
}

void Controller::State::give_up(AgentRecord& agent, const Error& cause) {
  // It may be alive. When it has to leave, or joins again, it closes what it holds before anything else.
  if (agent.link) refuse_link(*agent.link, cause);
  agents_.detach(agent);
  const std::vector<ChannelId> channels(agent.channels.begin(), agent.channels.end());
  for (const ChannelId channel : channels) {
    if (const auto part = find_part(agent, channel)) part_lost(*part, cause);
  }
  const std::vector<EndpointId> endpoints(agent.endpoints.begin(), agent.endpoints.end());
  for (const EndpointId endpoint : endpoints) end_endpoint(endpoints_.find(endpoint), cause);
  agents_.remove(agent);
}

}  // namespace crossdock::control
