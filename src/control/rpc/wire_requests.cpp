// Requests and their replies as bytes and back.
#include "base/check.hpp"
#include "control/rpc/control_wire.hpp"
#include "control/rpc/wire_fields.hpp"

namespace crossdock::wire {
// Static rather than in a namespace without a name, whose functions would hide those of wire_fields.hpp.

static Result<Request> endpoint_request(std::string_view bytes) {
  pb::CreateEndpointRequest in;
  CD_TRY(parse(bytes, in));
  return Request(CreateEndpoint{taken(in.request()), in.agent(), in.vertex()});
}

static Result<Request> channel_request(std::string_view bytes) {
  pb::CreateChannelRequest in;
  CD_TRY(parse(bytes, in));
  return Request(CreateChannel{
      taken(in.request()), taken(in.sources()), taken(in.destinations()), taken(in.rows())});
}

static void put_status(const ControlStatus& status, pb::StatusReply& out) {
  out.set_epoch(status.epoch);
  out.set_up_s(status.up_s);
  for (const AgentStatus& agent : status.agents) {
    pb::StatusReply::Agent& agent_out = *out.add_agents();
    agent_out.set_name(agent.name);
    agent_out.set_state(static_cast<pb::AgentState>(static_cast<int>(agent.state) + 1));
    agent_out.set_gpus(agent.gpus);
    agent_out.set_nics(agent.nics);
    agent_out.set_endpoints(agent.endpoints);
    agent_out.set_channels(agent.channels);
    agent_out.set_silent_s(agent.silent_s);
  }
  for (const ChannelStatus& channel : status.channels) {
    pb::StatusReply::Channel& channel_out = *out.add_channels();
    channel_out.set_channel(channel.channel.value);
    channel_out.set_state(static_cast<pb::ChannelState>(static_cast<int>(channel.state) + 1));
    channel_out.set_sources(channel.sources);
    channel_out.set_destinations(channel.destinations);
    channel_out.set_agents(channel.agents);
  }
  out.set_endpoints(status.endpoints);
  out.set_open_channels(status.open_channels);
  out.set_channels_created(status.channels_created);
  out.set_channels_closed(status.channels_closed);
}

// Enumerators on the wire begin with one that says nothing was said.
template <class State>
static Result<State> state_of(std::string_view field, int value, State last) {
  if (value >= 1 && value <= static_cast<int>(last) + 1) return static_cast<State>(value - 1);
  return malformed(field,
                   fmt::format("is {}, known are 1 to {}", value, static_cast<int>(last) + 1));
}

static Result<Reply> status_reply(std::string_view bytes) {
  pb::StatusReply in;
  CD_TRY(parse(bytes, in));
  ControlStatus out;
  out.epoch = in.epoch();
  out.up_s = in.up_s();
  for (const pb::StatusReply::Agent& agent : in.agents()) {
    CD_ASSIGN(const AgentState state,
              state_of("StatusReply.Agent.state", agent.state(), AgentState::kAway));
    out.agents.push_back({agent.name(),
                          state,
                          agent.gpus(),
                          agent.nics(),
                          agent.endpoints(),
                          agent.channels(),
                          agent.silent_s()});
  }
  for (const pb::StatusReply::Channel& channel : in.channels()) {
    CD_ASSIGN(const ChannelState state,
              state_of("StatusReply.Channel.state", channel.state(), ChannelState::kClosing));
    out.channels.push_back(
        {{channel.channel()}, state, channel.sources(), channel.destinations(), channel.agents()});
  }
  out.endpoints = in.endpoints();
  out.open_channels = in.open_channels();
  out.channels_created = in.channels_created();
  out.channels_closed = in.channels_closed();
  return Reply(std::move(out));
}

constexpr size_t kCreateEndpoint = 0;
constexpr size_t kDeleteEndpoint = 1;
constexpr size_t kCreateChannel = 2;
constexpr size_t kDeleteChannel = 3;
constexpr size_t kAskStatus = 4;

template <class Id>
static Status check_id(std::string_view field, Id id) {
  if (id.value != 0) return {};
  return malformed(field, "is missing");
}

}  // namespace crossdock::wire

namespace crossdock {

using namespace wire;

std::string encode_request(const Request& request) {
  return std::visit(Overloaded{
                        [](const CreateEndpoint& in) {
                          pb::CreateEndpointRequest out;
                          put(in.request, *out.mutable_request());
                          out.set_agent(in.agent);
                          out.set_vertex(in.vertex);
                          return out.SerializeAsString();
                        },
                        [](const DeleteEndpoint& in) {
                          pb::DeleteEndpointRequest out;
                          out.set_endpoint(in.endpoint.value);
                          return out.SerializeAsString();
                        },
                        [](const CreateChannel& in) {
                          pb::CreateChannelRequest out;
                          put(in.request, *out.mutable_request());
                          put(in.sources, *out.mutable_sources());
                          put(in.destinations, *out.mutable_destinations());
                          put(in.rows, *out.mutable_rows());
                          return out.SerializeAsString();
                        },
                        [](const DeleteChannel& in) {
                          pb::DeleteChannelRequest out;
                          out.set_channel(in.channel.value);
                          return out.SerializeAsString();
                        },
                        [](const AskStatus&) { return std::string(); },
                    },
                    request);
}

Result<Request> decode_request(size_t kind, std::string_view bytes) {
  switch (kind) {
    case kCreateEndpoint:
      return endpoint_request(bytes);
    case kCreateChannel:
      return channel_request(bytes);
    case kDeleteEndpoint: {
      pb::DeleteEndpointRequest in;
      CD_TRY(parse(bytes, in));
      return Request(DeleteEndpoint{{in.endpoint()}});
    }
    case kDeleteChannel: {
      pb::DeleteChannelRequest in;
      CD_TRY(parse(bytes, in));
      return Request(DeleteChannel{{in.channel()}});
    }
    default: {
      CD_CHECK(kind == kAskStatus, "no request of kind {}", kind);
      pb::StatusRequest in;
      CD_TRY(parse(bytes, in));
      return Request(AskStatus{});
    }
  }
}

std::string encode_reply(size_t kind, const Reply& reply) {
  switch (kind) {
    case kCreateEndpoint: {
      pb::CreateEndpointReply out;
      out.set_endpoint(std::get<EndpointCreated>(reply).endpoint.value);
      return out.SerializeAsString();
    }
    case kCreateChannel: {
      pb::CreateChannelReply out;
      out.set_channel(std::get<ChannelOpen>(reply).channel.value);
      return out.SerializeAsString();
    }
    case kAskStatus: {
      pb::StatusReply out;
      put_status(std::get<ControlStatus>(reply), out);
      return out.SerializeAsString();
    }
    default:
      CD_CHECK(std::holds_alternative<Done>(reply), "reply {} to a deletion", reply.index());
      return {};
  }
}

Result<Reply> decode_reply(size_t kind, std::string_view bytes) {
  switch (kind) {
    case kCreateEndpoint: {
      pb::CreateEndpointReply in;
      CD_TRY(parse(bytes, in));
      CD_TRY(check_id("CreateEndpointReply.endpoint", EndpointId{in.endpoint()}));
      return Reply(EndpointCreated{{in.endpoint()}});
    }
    case kCreateChannel: {
      pb::CreateChannelReply in;
      CD_TRY(parse(bytes, in));
      CD_TRY(check_id("CreateChannelReply.channel", ChannelId{in.channel()}));
      return Reply(ChannelOpen{{in.channel()}});
    }
    case kAskStatus:
      return status_reply(bytes);
    default: {
      pb::DeleteChannelReply in;
      CD_TRY(parse(bytes, in));
      return Reply(Done{});
    }
  }
}

}  // namespace crossdock
