// Requests and their replies as bytes and back.
#include "base/check.hpp"
#include "control/rpc/control_wire.hpp"
#include "control/rpc/wire_fields.hpp"

namespace crossdock::control::wire {
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

static Result<Request> meet_request(std::string_view bytes) {
  pb::MeetRequest in;
  CD_TRY(parse(bytes, in));
  return Request(Meet{
      taken(in.request()), in.group(), in.rank(), in.size(), in.round(), in.said(), in.within_s()});
}

static pb::MeetRequest message_of(const Meet& in) {
  pb::MeetRequest out;
  put(in.request, *out.mutable_request());
  out.set_group(in.group);
  out.set_rank(in.rank);
  out.set_size(in.size);
  out.set_round(in.round);
  out.set_said(in.said);
  out.set_within_s(in.within_s);
  return out;
}

static Result<Reply> meet_reply(std::string_view bytes) {
  pb::MeetReply in;
  CD_TRY(parse(bytes, in));
  return Reply(
      Met{std::make_shared<const std::vector<std::string>>(in.said().begin(), in.said().end())});
}

static Result<Reply> server_reply(std::string_view bytes) {
  pb::ServerReply in;
  CD_TRY(parse(bytes, in));
  ServerIs out;
  out.name = in.name();
  if (out.name.empty()) return Reply(std::move(out));
  CD_ASSIGN(out.shape, shape_of("ServerReply.topology", in.name(), in.topology()));
  return Reply(std::move(out));
}

static Result<Reply> part_reply(std::string_view bytes) {
  pb::PartReply in;
  CD_TRY(parse(bytes, in));
  CD_ASSIGN(ServerPart part, taken(in.part()));
  return Reply(PartIs{std::make_shared<const ServerPart>(std::move(part))});
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
constexpr size_t kMeet = 5;
constexpr size_t kAskServer = 6;
constexpr size_t kAskPart = 7;
constexpr size_t kKeepEndpoint = 8;

template <class Id>
static Status check_id(std::string_view field, Id id) {
  if (id.value != 0) return {};
  return malformed(field, "is missing");
}

}  // namespace crossdock::control::wire

namespace crossdock::control {

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
                        [](const Meet& in) { return message_of(in).SerializeAsString(); },
                        [](const AskServer&) { return std::string(); },
                        [](const AskPart& in) {
                          pb::PartRequest out;
                          out.set_channel(in.channel.value);
                          return out.SerializeAsString();
                        },
                        [](const KeepEndpoint& in) {
                          pb::KeepRequest out;
                          put(in.request, *out.mutable_request());
                          return out.SerializeAsString();
                        },
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
    case kMeet:
      return meet_request(bytes);
    case kAskServer: {
      pb::ServerRequest in;
      CD_TRY(parse(bytes, in));
      return Request(AskServer{});
    }
    case kAskPart: {
      pb::PartRequest in;
      CD_TRY(parse(bytes, in));
      return Request(AskPart{{in.channel()}});
    }
    case kKeepEndpoint: {
      pb::KeepRequest in;
      CD_TRY(parse(bytes, in));
      return Request(KeepEndpoint{taken(in.request())});
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
    case kMeet: {
      pb::MeetReply out;
      for (const std::string& said : *std::get<Met>(reply).said) out.add_said(said);
      return out.SerializeAsString();
    }
    case kAskServer: {
      const auto& server = std::get<ServerIs>(reply);
      pb::ServerReply out;
      out.set_name(server.name);
      if (server.shape != nullptr) out.set_topology(topology_text(server.name, server.shape));
      return out.SerializeAsString();
    }
    case kAskPart: {
      pb::PartReply out;
      put(*std::get<PartIs>(reply).part, *out.mutable_part());
      return out.SerializeAsString();
    }
    default:
      CD_CHECK(std::holds_alternative<Done>(reply), "reply {} to a deletion", reply.index());
      return {};
  }
}

std::shared_ptr<const std::string> encode_shared_reply(size_t kind, const Reply& reply) {
  const auto encode = [&] { return encode_reply(kind, reply); };
  if (const auto* met = std::get_if<Met>(&reply)) return met->bytes->get(encode);
  return std::make_shared<const std::string>(encode());
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
    case kMeet:
      return meet_reply(bytes);
    case kAskServer:
      return server_reply(bytes);
    case kAskPart:
      return part_reply(bytes);
    default: {
      pb::DeleteChannelReply in;
      CD_TRY(parse(bytes, in));
      return Reply(Done{});
    }
  }
}

}  // namespace crossdock::control
