// Channels: opening while agents set their parts up, open when all have, closing until no agent has a part any more.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "control/controller/controller_state.hpp"
#include "control/protocol/check.hpp"

namespace crossdock::control {

bool Controller::State::repeat_channel(CallId call, const CreateChannel& request) {
  const auto earlier = requests_.find<ChannelId>(request.request);
  if (!earlier) return false;
  if (!earlier->ok()) {
    calls_.reply(call, earlier->error());
    return true;
  }
  const ChannelId id = earlier->value();
  const ChannelRecord& record = channels_.at(id);
  if (!record.is_for(request.rows, request.sources, request.destinations)) {
    calls_.reply(call, RequestTable::used_before(request.request));
    return true;
  }
  switch (record.state) {
    case ChannelState::kOpening:
      calls_.wait(call, {Event::kChannelOpen, id.value});
      break;
    case ChannelState::kOpen:
      calls_.reply(call, ChannelOpen{id});
      break;
    case ChannelState::kRecovering:
      calls_.reply(call, ask_again(fmt::format("channel {} is not whole yet", text_of(id))));
      break;
    case ChannelState::kClosing:
      if (record.is_half_made) {
        calls_.reply(call,
                     ask_again(fmt::format("channel {}, half made, is being closed", text_of(id))));
      } else {
        calls_.reply(call, record.cause);
      }
      break;
  }
  return true;
}

Result<std::vector<PlacedEndpoint>> Controller::State::place(
    const std::vector<EndpointId>& endpoints, const char* what) const {
  std::vector<PlacedEndpoint> placed;
  placed.reserve(endpoints.size());
  for (const EndpointId id : endpoints) {
    const auto known = endpoints_.find(id);
    if (known == endpoints_.end() || known->second.state == EndpointRecord::State::kRemoving) {
      return make_error(ErrorCode::kUnknownId,
                        "there is no endpoint {}, which the channel names as a {}; it was never "
                        "created, was deleted, or went with its agent: create it again",
                        text_of(id),
                        what);
    }
    placed.push_back({id, {known->second.agent->server, known->second.vertex}});
  }
  return placed;
}

namespace {

// Without repetitions: one vertex can have several endpoints, of which the plan knows nothing.
std::vector<topology::Location> locations_of(const std::vector<PlacedEndpoint>& placed) {
  std::vector<topology::Location> locations(placed.size());
  std::ranges::transform(placed, locations.begin(), &PlacedEndpoint::location);
  if (!std::ranges::is_sorted(locations)) std::ranges::sort(locations);
  const auto rest = std::ranges::unique(locations);
  locations.erase(rest.begin(), rest.end());
  return locations;
}

}  // namespace

void Controller::State::serve(CallId call, CreateChannel& request) {
  if (repeat_channel(call, request)) return;
  for (const auto* list : {&request.sources, &request.destinations}) {
    for (const EndpointId id : *list) {
      if (!is_recovering_) break;
      if (endpoints_.contains(id) || !may_come_back(id, gone_endpoints_)) continue;
      return calls_.reply(call, ask_again(fmt::format("endpoint {} is not known", text_of(id))));
    }
  }
  if (const Status status = plan_and_open(call, request); !status.ok()) {
    calls_.reply(call, status.error());
  }
}

Status Controller::State::plan_and_open(CallId call, CreateChannel& request) {
  if (channels_.size() >= settings_.channels_max || last_channel_ == UINT32_MAX) {
    return make_error(ErrorCode::kControlLimit,
                      "there are {} channels, of which the controller holds at most {}, and {} "
                      "were numbered since it was started, of at most {}; delete some, or start "
                      "it again",
                      channels_.size(),
                      settings_.channels_max,
                      last_channel_,
                      UINT32_MAX);
  }
  TransferOptimizer& optimizer = agents_.optimizer();
  CD_ASSIGN(const auto sources, place(request.sources, "source"));
  CD_ASSIGN(const auto destinations, place(request.destinations, "destination"));
  CD_ASSIGN(const auto plan, optimizer.plan(locations_of(sources), locations_of(destinations)));

  const ChannelId id{uint64_t{epoch_} << 32 | ++last_channel_};
  ChannelRecord record;
  record.request = request.request;
  record.rows_hash = hash_of(request.rows);
  record.to_apply = parts_.make(
      plan, {id, request.request, std::move(request.rows), {}, {}, {}}, sources, destinations);
  record.set_ends(std::move(request.sources), std::move(request.destinations));
  for (const topology::ServerIndex server : plan->servers()) {
    record.servers.push_back(plan->graph().server_name(server));
  }
  record.parts.assign(record.servers.size(), PartState::kSent);
  record.pending = static_cast<uint32_t>(record.servers.size());
  count_uses(record, +1);
  requests_.begin(record.request, id);
  calls_.wait(call, {Event::kChannelOpen, id.value});
  const ChannelRecord& kept = channels_.emplace(id, std::move(record)).first->second;
  for (size_t i = 0; i < kept.servers.size(); ++i) {
    AgentRecord* const agent = agents_.find(kept.servers[i]);
    agent->channels.insert(id);
    send(*agent, Apply{kept.to_apply[i]});
  }
  set_deadline(Deadline::Kind::kApply, id.value);
  return {};
}

void Controller::State::serve(CallId call, DeleteChannel& request) {
  const ChannelId id = request.channel;
  const auto known = channels_.find(id);
  if (known == channels_.end()) {
    if (!may_come_back(id, gone_channels_)) return calls_.reply(call, Done{});
    return calls_.reply(call, ask_again(fmt::format("channel {} is not known", text_of(id))));
  }
  calls_.wait(call, {Event::kChannelGone, id.value});
  // It was deleted for good, so what a former controller began is not made again.
  known->second.is_half_made = false;
  begin_close(known,
              make_error(ErrorCode::kChannelClosed,
                         "channel {} was deleted by an application; create another",
                         text_of(id)));
}

// ---- parts ---------------------------------------------------------------------------------------------------------

std::optional<Controller::State::PartPlace> Controller::State::find_part(const AgentRecord& agent,
                                                                         ChannelId channel) {
  const auto known = channels_.find(channel);
  if (known == channels_.end()) return std::nullopt;
  const auto server = known->second.find_server(agent.name);
  if (!server) return std::nullopt;
  return PartPlace{known, *server};
}

void Controller::State::on_message(AgentRecord& agent, const Applied& message) {
  const auto part = find_part(agent, message.channel);
  if (part && part->state() == PartState::kSent) part_applied(*part);
}

void Controller::State::part_applied(PartPlace part) {
  const auto& [id, record] = *part.channel;
  part.state() = PartState::kApplied;
  if (--part.channel->second.pending > 0) return;
  part.channel->second.state = ChannelState::kOpen;
  part.channel->second.to_apply.clear();
  ++channels_created_;
  ++open_channels_;
  calls_.answer({Event::kChannelOpen, id.value}, ChannelOpen{id});
}

void Controller::State::on_message(AgentRecord& agent, const Refused& message) {
  const auto part = find_part(agent, message.channel);
  if (!part) return;
  if (part->state() == PartState::kEnding) return part_ended(*part);
  part_lost(*part,
            sendable(make_error(message.error.code,
                                "agent '{}' could not set up its part of channel {}: {}",
                                agent.name,
                                text_of(message.channel),
                                message.error.message)));
}

void Controller::State::on_message(AgentRecord& agent, const Closed& message) {
  const auto part = find_part(agent, message.channel);
  if (!part) return;
  if (part->state() == PartState::kEnding) return part_ended(*part);
  part_lost(*part,
            make_error(ErrorCode::kChannelClosed,
                       "agent '{}' closed its part of channel {} without being asked to; see its "
                       "log, and create the channel again",
                       agent.name,
                       text_of(message.channel)));
}

void Controller::State::part_lost(PartPlace part, const Error& cause) {
  if (part.state() == PartState::kGone) return;
  if (part.channel->second.state == ChannelState::kClosing) return part_ended(part);
  part.state() = PartState::kGone;
  begin_close(part.channel, cause);
}

void Controller::State::part_ended(PartPlace part) {
  part.state() = PartState::kGone;
  if (--part.channel->second.pending == 0) end_channel(part.channel);
}

void Controller::State::begin_close(Channels::iterator place, Error cause) {
  auto& [id, record] = *place;
  if (record.state == ChannelState::kClosing) return;  // for the cause that came first
  if (record.state == ChannelState::kOpen) --open_channels_;
  record.state = ChannelState::kClosing;
  record.cause = std::move(cause);
  record.to_apply.clear();
  record.pending = 0;
  for (size_t i = 0; i < record.parts.size(); ++i) {
    if (record.parts[i] == PartState::kGone) continue;
    ++record.pending;
    if (record.parts[i] == PartState::kUnseen) continue;
    record.parts[i] = PartState::kEnding;
    const AgentRecord* const agent = agents_.find(record.servers[i]);
    CD_CHECK(agent != nullptr, "agent {} of channel {}", record.servers[i], text_of(id));
    send(*agent, Close{id, record.cause});
  }
  calls_.answer({Event::kChannelOpen, id.value}, record.cause);
  if (record.pending == 0) return end_channel(place);
  set_deadline(Deadline::Kind::kClose, id.value);
}

void Controller::State::end_channel(Channels::iterator place) {
  const ChannelId id = place->first;
  ChannelRecord record = std::move(place->second);
  channels_.erase(place);
  ++channels_closed_;
  count_uses(record, -1);
  for (const std::string& server : record.servers) {
    if (AgentRecord* const agent = agents_.find(server)) agent->channels.erase(id);
  }
  if (record.is_half_made) {
    requests_.forget(record.request);
  } else {
    requests_.finish(record.request, std::move(record.cause));
  }
  if (is_recovering_ && epoch_of(id) != epoch_) gone_channels_.insert(id);
  calls_.answer({Event::kChannelGone, id.value}, Done{});
}

}  // namespace crossdock::control
