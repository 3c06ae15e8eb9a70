// What an agent reports when it joins, laid beside what the controller knows: after a broken connection nearly nothing
// differs, after a restart of the controller everything is news.
#include <algorithm>
#include <utility>

#include "control/controller/controller_state.hpp"

namespace crossdock::control {

void Controller::State::join(LinkId link, JoinRequest join) {
  const AgentRecord* const known = agents_.find(join.name);
  if (known && known->instance == join.instance && join.connection <= known->connection) {
    // Read late, off a connection that the agent has left for the one whose report we have.
    return closing_.push_back(link);
  }
  auto admitted = admit(join);
  if (!admitted.ok()) return refuse_link(link, admitted.error());
  AgentRecord& agent = *admitted.value();
  if (agent.link) closing_.push_back(*agent.link);  // broken, and not noticed yet
  agents_.attach(agent, link);
  agent.connection = join.connection;
  agent.attached_s = agent.heard_s = listened_s_;
  send(agent, Welcome{epoch_, settings_.heartbeat_s, settings_.lost_after_s});
  reconcile_endpoints(agent, join);
  reconcile_channels(agent, join);
}

Result<AgentRecord*> Controller::State::admit(const JoinRequest& join) {
  if (join.protocol_version != kProtocolVersion) {
    return make_error(ErrorCode::kMalformedMessage,
                      "the agent speaks version {} of the protocol, the controller version {}; "
                      "run the same version of Crossdock on all servers",
                      join.protocol_version,
                      kProtocolVersion);
  }
  AgentRecord* known = agents_.find(join.name);
  if (known && known->instance != join.instance && known->link) {
    return make_error(ErrorCode::kNameTaken,
                      "an agent called '{}' has joined already and spoke {:.1f} s ago; give this "
                      "one another name, end the other, or try again in {} s if it is no more",
                      join.name,
                      listened_s_ - known->heard_s,
                      settings_.lost_after_s);
  }
  if (known && known->instance != join.instance) {
    give_up(*known,
            make_error(ErrorCode::kAgentLost,
                       "agent '{}' restarted; create again what it took part in",
                       join.name));
    known = nullptr;
  }
  if (known && *known->shape != *join.shape) {
    return make_error(ErrorCode::kMalformedMessage,
                      "agent '{}' comes back with another graph of its server than it joined "
                      "with; restart it",
                      join.name);
  }
  CD_TRY(check_room(join));
  if (known) return known;
  CD_ASSIGN(AgentRecord* const added, agents_.add(join));
  const auto unseen = unseen_.find(join.name);
  if (unseen != unseen_.end()) {
    added->channels = std::move(unseen->second);
    unseen_.erase(unseen);
  }
  return added;
}

// Whether there is room for what the report may bring back, looked at before anything of it is taken.
Status Controller::State::check_room(const JoinRequest& join) const {
  size_t endpoints = 0;
  size_t channels = 0;
  for (const HeldEndpoint& held : join.endpoints) {
    endpoints += endpoints_.contains(held.endpoint) ? 0 : 1;
  }
  for (const HeldChannel& held : join.channels) {
    channels += channels_.contains(held.channel) ? 0 : 1;
  }
  if (endpoints_.size() + endpoints <= settings_.endpoints_max &&
      channels_.size() + channels <= settings_.channels_max) {
    return {};
  }
  return make_error(ErrorCode::kControlLimit,
                    "agent '{}' brings {} endpoints and {} channels, beside {} and {}; the "
                    "controller holds at most {} and {}: start it with higher limits",
                    join.name,
                    endpoints,
                    channels,
                    endpoints_.size(),
                    channels_.size(),
                    settings_.endpoints_max,
                    settings_.channels_max);
}

// ---- endpoints -----------------------------------------------------------------------------------------------------

void Controller::State::reconcile_endpoints(AgentRecord& agent, const JoinRequest& report) {
  std::unordered_set<EndpointId> reported;
  for (const HeldEndpoint& held : report.endpoints) {
    reported.insert(held.endpoint);
    const auto known = endpoints_.find(held.endpoint);
    if (known == endpoints_.end()) {
      recover_endpoint(agent, held);
    } else if (known->second.agent != &agent ||
               known->second.state == EndpointRecord::State::kRemoving) {
      send(agent, Hold{{held.endpoint, held.request, ""}});
    } else {
      on_message(agent, Held{held.endpoint, false});
    }
  }
  const std::vector<EndpointId> known(agent.endpoints.begin(), agent.endpoints.end());
  for (const EndpointId id : known) {
    if (reported.contains(id)) continue;
    const EndpointRecord& record = endpoints_.at(id);
    if (record.state == EndpointRecord::State::kRemoving) {
      on_message(agent, Held{id, true});
    } else {
      send(agent, Hold{{id, record.request, agent.shape->vertex(record.vertex).name}});
    }
  }
}

void Controller::State::recover_endpoint(AgentRecord& agent, const HeldEndpoint& held) {
  const EndpointId id = held.endpoint;
  if (!may_come_back(id, gone_endpoints_) || requests_.knows(held.request)) {
    return send(agent, Hold{{id, held.request, ""}});
  }
  EndpointRecord record;
  record.agent = &agent;
  record.vertex = *agent.shape->find_vertex(held.vertex);
  record.state = EndpointRecord::State::kHeld;
  record.request = held.request;
  if (const auto unseen = unseen_uses_.find(id); unseen != unseen_uses_.end()) {
    record.uses = unseen->second;
    unseen_uses_.erase(unseen);
  }
  endpoints_.emplace(id, record);
  agent.endpoints.insert(id);
  requests_.begin(held.request, id);
}

// ---- channels ------------------------------------------------------------------------------------------------------

void Controller::State::reconcile_channels(AgentRecord& agent, JoinRequest& report) {
  std::unordered_set<ChannelId> reported;
  for (HeldChannel& held : report.channels) {
    reported.insert(held.channel);
    if (const auto part = find_part(agent, held.channel)) {
      part_reported(*part, held);
    } else {
      recover_channel(agent, held);
    }
  }
  const std::vector<ChannelId> known(agent.channels.begin(), agent.channels.end());
  for (const ChannelId id : known) {
    if (reported.contains(id)) continue;
    if (const auto part = find_part(agent, id)) part_missing(agent, *part);
  }
}

// The agent has a part of a channel that is known.
void Controller::State::part_reported(PartPlace part, const HeldChannel& held) {
  auto& [id, record] = *part.channel;
  const AgentRecord& agent = *agents_.find(record.servers[part.server]);
  switch (part.state()) {
    case PartState::kSent:
      return part_applied(part);
    case PartState::kApplied:
      return;
    case PartState::kEnding:
    case PartState::kGone:
      return send(agent, Close{id, record.cause});
    case PartState::kUnseen:
      break;
  }
  if (record.state == ChannelState::kClosing) {
    part.state() = PartState::kEnding;
    return send(agent, Close{id, record.cause});
  }
  part.state() = PartState::kApplied;
  if (held.request != record.request || held.servers != record.servers ||
      !record.is_for(held.rows, held.sources, held.destinations)) {
    return begin_close(
        part.channel,
        make_error(ErrorCode::kMalformedMessage,
                   "agent '{}' reports channel {} with other ends or rows than other "
                   "agents do; create it again",
                   agent.name,
                   text_of(id)));
  }
  if (--record.pending > 0) return;
  if (Error fault = recovery_fault(record); !fault.message.empty()) {
    return begin_close(part.channel, std::move(fault));
  }
  record.state = ChannelState::kOpen;
  ++open_channels_;
}

// The agent takes part in a channel, as far as the controller knows, and has nothing of it.
void Controller::State::part_missing(AgentRecord& agent, PartPlace part) {
  auto& [id, record] = *part.channel;
  switch (part.state()) {
    case PartState::kGone:
      return;
    case PartState::kSent:
      return send(agent, Apply{record.to_apply[part.server]});
    case PartState::kEnding:
      return part_ended(part);
    case PartState::kUnseen:
      if (record.state == ChannelState::kRecovering) record.is_half_made = true;
      [[fallthrough]];
    case PartState::kApplied:
      return part_lost(part,
                       make_error(ErrorCode::kChannelClosed,
                                  "agent '{}' came back without its part of channel {}; create "
                                  "the channel again",
                                  agent.name,
                                  text_of(id)));
  }
}

// A channel that no agent has reported yet. Its other agents come back with it, or have joined without it.
void Controller::State::recover_channel(AgentRecord& agent, HeldChannel& held) {
  const ChannelId id = held.channel;
  if (channels_.contains(id) || !may_come_back(id, gone_channels_) ||
      requests_.knows(held.request)) {
    return send(agent,
                Close{id,
                      make_error(ErrorCode::kChannelClosed,
                                 "the controller has closed channel {} or never knew it; create "
                                 "another",
                                 text_of(id))});
  }
  ChannelRecord record;
  record.state = ChannelState::kRecovering;
  record.request = held.request;
  record.rows_hash = hash_of(held.rows);
  record.set_ends(std::move(held.sources), std::move(held.destinations));
  record.servers = std::move(held.servers);
  std::string without;
  for (const std::string& server : record.servers) {
    PartState state = PartState::kUnseen;
    if (server == agent.name) {
      state = PartState::kApplied;
    } else if (agents_.find(server)) {
      state = PartState::kGone;
      without = server;
    } else {
      ++record.pending;
      unseen_[server].insert(id);
    }
    record.parts.push_back(state);
  }
  agent.channels.insert(id);
  requests_.begin(record.request, id);
  count_uses(record, +1);
  const auto place = channels_.emplace(id, std::move(record)).first;
  if (!without.empty()) {
    place->second.is_half_made = true;
    return begin_close(place,
                       make_error(ErrorCode::kChannelClosed,
                                  "agent '{}' joined without its part of channel {}, which '{}' "
                                  "has; create the channel again",
                                  without,
                                  text_of(id),
                                  agent.name));
  }
  if (place->second.pending > 0) return;
  if (Error fault = recovery_fault(place->second); !fault.message.empty()) {
    return begin_close(place, std::move(fault));
  }
  place->second.state = ChannelState::kOpen;
  ++open_channels_;
}

// Why a channel whose agents are all back cannot go on; "" if it can.
Error Controller::State::recovery_fault(const ChannelRecord& record) const {
  for (const auto* list : {record.sources.get(), record.destinations.get()}) {
    for (const EndpointId id : *list) {
      if (endpoints_.contains(id)) continue;
      return make_error(ErrorCode::kChannelClosed,
                        "no agent has endpoint {}, which the channel names; create both again",
                        text_of(id));
    }
  }
  return {};
}

void Controller::State::end_recovery() {
  is_recovering_ = false;
  for (const auto& [name, channels] : std::exchange(unseen_, {})) {
    for (const ChannelId id : channels) {
      const auto known = channels_.find(id);
      if (known == channels_.end()) continue;
      const auto server = known->second.find_server(name);
      part_lost({known, *server},
                make_error(ErrorCode::kAgentLost,
                           "agent '{}' did not come back within {} s after the controller was "
                           "restarted; create channel {} again when it has",
                           name,
                           settings_.recover_within_s,
                           text_of(id)));
    }
  }
  unseen_uses_.clear();
  gone_endpoints_.clear();
  gone_channels_.clear();
}

}  // namespace crossdock::control
