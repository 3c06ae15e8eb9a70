// Endpoints: placed when their agent says that it holds them, gone when it says that it does not.
#include <utility>

#include "control/controller/controller_state.hpp"

namespace crossdock::control {

bool Controller::State::repeat_endpoint(CallId call, const CreateEndpoint& request) {
  const auto earlier = requests_.find<EndpointId>(request.request);
  if (!earlier) return false;
  if (!earlier->ok()) {
    calls_.reply(call, earlier->error());
    return true;
  }
  const EndpointId id = earlier->value();
  const EndpointRecord& record = endpoints_.at(id);
  if (record.agent->name != request.agent ||
      record.agent->shape->vertex(record.vertex).name != request.vertex) {
    calls_.reply(call, RequestTable::used_before(request.request));
    return true;
  }
  switch (record.state) {
    case EndpointRecord::State::kPlacing:
      calls_.wait(call, {Event::kEndpointHeld, id.value});
      break;
    case EndpointRecord::State::kHeld:
      calls_.reply(call, EndpointCreated{id});
      break;
    case EndpointRecord::State::kRemoving:
      calls_.reply(call,
                   make_error(ErrorCode::kUnknownId,
                              "endpoint {} of this request is being deleted; send a new request "
                              "with a new id for another",
                              text_of(id)));
      break;
  }
  return true;
}

void Controller::State::serve(CallId call, CreateEndpoint& request) {
  if (repeat_endpoint(call, request)) return;
  AgentRecord* const agent = agents_.find(request.agent);
  if (!agent) {
    const std::string near = agents_.nearest(request.agent);
    const std::string hint = near.empty() ? "" : "; did you mean '" + near + "'?";
    return calls_.reply(
        call,
        is_recovering_
            ? ask_again(fmt::format("no agent called '{}' has joined", request.agent), hint)
            : make_error(ErrorCode::kUnknownId,
                         "no agent is called '{}' among {}{}",
                         request.agent,
                         agents_.all().size(),
                         near.empty() ? ": start one on that server" : hint));
  }
  const auto vertex = agent->shape->find_vertex(request.vertex);
  if (!vertex || !topology::is_managed(agent->shape->kind(*vertex))) {
    return calls_.reply(call,
                        make_error(vertex ? ErrorCode::kInvalidArgument : ErrorCode::kUnknownId,
                                   "'{}' of agent '{}' {}; take one of its CPUs or GPUs, as "
                                   "crossdock topo names them",
                                   request.vertex,
                                   request.agent,
                                   vertex ? "cannot hold data" : "does not exist"));
  }
  if (endpoints_.size() >= settings_.endpoints_max || last_endpoint_ == UINT32_MAX) {
    return calls_.reply(
        call,
        make_error(ErrorCode::kControlLimit,
                   "there are {} endpoints, of which the controller holds at most {}, and {} were "
                   "numbered since it was started, of at most {}; delete some, or restart it",
                   endpoints_.size(),
                   settings_.endpoints_max,
                   last_endpoint_,
                   UINT32_MAX));
  }
  const EndpointId id{uint64_t{epoch_} << 32 | ++last_endpoint_};
  const double due_s = set_deadline(Deadline::Kind::kHold, id.value);
  endpoints_[id] = {agent, *vertex, EndpointRecord::State::kPlacing, request.request, 0, due_s};
  agent->endpoints.insert(id);
  requests_.begin(request.request, id);
  calls_.wait(call, {Event::kEndpointHeld, id.value});
  send(*agent, Hold{{id, request.request, request.vertex}});
}

void Controller::State::serve(CallId call, DeleteEndpoint& request) {
  const EndpointId id = request.endpoint;
  const auto known = endpoints_.find(id);
  if (known == endpoints_.end()) {
    if (!may_come_back(id, gone_endpoints_)) return calls_.reply(call, Done{});
    return calls_.reply(call, ask_again(fmt::format("endpoint {} is not known", text_of(id))));
  }
  EndpointRecord& record = known->second;
  if (record.uses > 0) {
    return calls_.reply(call,
                        make_error(ErrorCode::kInvalidArgument,
                                   "endpoint {} is named {} times by channels; delete those first",
                                   text_of(id),
                                   record.uses));
  }
  calls_.wait(call, {Event::kEndpointGone, id.value});
  if (record.state == EndpointRecord::State::kRemoving) return;
  record.state = EndpointRecord::State::kRemoving;
  calls_.answer(
      {Event::kEndpointHeld, id.value},
      make_error(
          ErrorCode::kUnknownId, "endpoint {} was deleted before it was placed", text_of(id)));
  send(*record.agent, Hold{{id, record.request, ""}});
  record.due_s = set_deadline(Deadline::Kind::kHold, id.value);
}

void Controller::State::on_message(AgentRecord& agent, const Held& message) {
  const auto known = endpoints_.find(message.endpoint);
  if (known == endpoints_.end() || known->second.agent != &agent) return;
  EndpointRecord& record = known->second;
  if (record.state == EndpointRecord::State::kPlacing && !message.is_gone) {
    record.state = EndpointRecord::State::kHeld;
    calls_.answer({Event::kEndpointHeld, message.endpoint.value},
                  EndpointCreated{message.endpoint});
  } else if (record.state == EndpointRecord::State::kRemoving && message.is_gone) {
    end_endpoint(known,
                 make_error(ErrorCode::kUnknownId,
                            "endpoint {} of this request was deleted; send a new request with a "
                            "new id for another",
                            text_of(message.endpoint)));
  }
}

void Controller::State::end_endpoint(Endpoints::iterator place, Error why_gone) {
  const auto [id, record] = *place;
  calls_.answer({Event::kEndpointHeld, id.value}, why_gone);
  calls_.answer({Event::kEndpointGone, id.value}, Done{});
  requests_.finish(record.request, std::move(why_gone));
  record.agent->endpoints.erase(id);
  if (is_recovering_ && epoch_of(id) != epoch_) gone_endpoints_.insert(id);
  endpoints_.erase(place);
}

void Controller::State::count_use(EndpointId endpoint, int change) {
  const auto known = endpoints_.find(endpoint);
  if (known != endpoints_.end()) {
    known->second.uses += static_cast<uint32_t>(change);
    return;
  }
  // It has not come back yet, or went with its agent, in which case it does not count any more.
  const auto unseen = unseen_uses_.find(endpoint);
  if (change > 0) {
    ++unseen_uses_[endpoint];
  } else if (unseen != unseen_uses_.end() && --unseen->second == 0) {
    unseen_uses_.erase(unseen);
  }
}

void Controller::State::count_uses(const ChannelRecord& record, int change) {
  for (const EndpointId endpoint : *record.sources) count_use(endpoint, change);
  if (record.destinations == record.sources) return;
  for (const EndpointId endpoint : *record.destinations) count_use(endpoint, change);
}

}  // namespace crossdock::control
