// What agents and the controller say, as bytes and back.
#include <limits>

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "base/check.hpp"
#include "control/protocol/check.hpp"
#include "control/rpc/control_wire.hpp"
#include "control/rpc/wire_fields.hpp"

namespace crossdock::control::wire {
// Static rather than in a namespace without a name, whose functions would hide those of wire_fields.hpp.

static void put(const HeldEndpoint& endpoint, pb::HeldEndpoint& out) {
  out.set_endpoint(endpoint.endpoint.value);
  put(endpoint.request, *out.mutable_request());
  out.set_vertex(endpoint.vertex);
}

static HeldEndpoint taken(const pb::HeldEndpoint& in) {
  return {{in.endpoint()}, taken(in.request()), in.vertex()};
}

static void put(const HeldChannel& channel, pb::HeldChannel& out) {
  out.set_channel(channel.channel.value);
  put(channel.request, *out.mutable_request());
  put(channel.sources, *out.mutable_sources());
  put(channel.destinations, *out.mutable_destinations());
  for (const std::string& server : channel.servers) out.add_servers(server);
  put(channel.rows, *out.mutable_rows());
}

static HeldChannel taken(const pb::HeldChannel& in) {
  return {{in.channel()},
          taken(in.request()),
          taken(in.sources()),
          taken(in.destinations()),
          {in.servers().begin(), in.servers().end()},
          taken(in.rows())};
}

static void put(const JoinRequest& join, pb::Join& out) {
  out.set_protocol_version(join.protocol_version);
  out.set_name(join.name);
  out.set_instance(join.instance.value);
  out.set_connection(join.connection);
  if (join.shape != nullptr) out.set_topology(topology_text(join.name, join.shape));
  for (const HeldEndpoint& endpoint : join.endpoints) put(endpoint, *out.add_endpoints());
  for (const HeldChannel& channel : join.channels) put(channel, *out.add_channels());
}

template <class Repeated>
static uint64_t count_of(const Repeated& field) {
  return static_cast<uint64_t>(field.size());
}

static Result<AgentMessage> taken(const pb::Join& in) {
  JoinRequest out;
  out.protocol_version = in.protocol_version();
  out.name = in.name();
  out.instance = {in.instance()};
  out.connection = in.connection();
  // Refused for its version then, and not for what another version writes differently.
  if (out.protocol_version != kProtocolVersion) return AgentMessage(std::move(out));
  CD_TRY(check_at_most("Join.endpoints", count_of(in.endpoints()), kHeldEndpointsMax));
  CD_TRY(check_at_most("Join.channels", count_of(in.channels()), kHeldChannelsMax));
  CD_ASSIGN(out.shape, shape_of("Join.topology", in.name(), in.topology()));
  for (const pb::HeldEndpoint& endpoint : in.endpoints()) out.endpoints.push_back(taken(endpoint));
  for (const pb::HeldChannel& channel : in.channels()) out.channels.push_back(taken(channel));
  return AgentMessage(std::move(out));
}

static Result<AgentMessage> taken(const pb::AgentMessage& in) {
  switch (in.kind_case()) {
    case pb::AgentMessage::kJoin:
      return taken(in.join());
    case pb::AgentMessage::kHeartbeat:
      return AgentMessage(Heartbeat{});
    case pb::AgentMessage::kApplied:
      return AgentMessage(Applied{{in.applied().channel()}});
    case pb::AgentMessage::kRefused: {
      Error error;
      CD_TRY(take("Refused.error", in.refused().error(), error));
      return AgentMessage(Refused{{in.refused().channel()}, std::move(error)});
    }
    case pb::AgentMessage::kClosed:
      return AgentMessage(Closed{{in.closed().channel()}});
    case pb::AgentMessage::kHeld:
      return AgentMessage(Held{{in.held().endpoint()}, in.held().is_gone()});
    case pb::AgentMessage::KIND_NOT_SET:
      break;
  }
  return malformed("AgentMessage.kind", "is none that this version knows");
}

static Result<ControllerMessage> taken(const pb::ControllerMessage& in) {
  switch (in.kind_case()) {
    case pb::ControllerMessage::kWelcome: {
      const pb::Welcome& welcome = in.welcome();
      return ControllerMessage(
          Welcome{welcome.epoch(), welcome.heartbeat_s(), welcome.lost_after_s()});
    }
    case pb::ControllerMessage::kHold:
      return ControllerMessage(Hold{taken(in.hold().endpoint())});
    case pb::ControllerMessage::kApply: {
      CD_ASSIGN(ServerPart part, taken(in.apply().part()));
      return ControllerMessage(Apply{std::make_shared<const ServerPart>(std::move(part))});
    }
    case pb::ControllerMessage::kClose: {
      Error cause;
      CD_TRY(take("Close.cause", in.close().cause(), cause));
      return ControllerMessage(Close{{in.close().channel()}, std::move(cause)});
    }
    case pb::ControllerMessage::kLeave: {
      Error cause;
      CD_TRY(take("Leave.cause", in.leave().cause(), cause));
      return ControllerMessage(Leave{std::move(cause)});
    }
    case pb::ControllerMessage::KIND_NOT_SET:
      break;
  }
  return malformed("ControllerMessage.kind", "is none that this version knows");
}

// Before they are parsed: a message of two bytes takes hundreds once it is decoded.
static Status check_count(std::string_view batch) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(batch.data()),
                                            static_cast<int>(batch.size()));
  uint64_t count = 0;
  while (const uint32_t tag = in.ReadTag()) {
    if (!google::protobuf::internal::WireFormatLite::SkipField(&in, tag)) break;  // parse() tells
    CD_TRY(check_at_most("messages", ++count, kBatchMessagesMax));
  }
  return {};
}

template <class Wire, class Message>
static Result<std::vector<Message>> decoded(std::string_view batch) {
  if (batch.size() <= std::numeric_limits<int>::max()) CD_TRY(check_count(batch));
  google::protobuf::Arena arena;
  auto& in = *google::protobuf::Arena::CreateMessage<Wire>(&arena);
  CD_TRY(parse(batch, in));
  std::vector<Message> messages;
  messages.reserve(static_cast<size_t>(in.messages_size()));
  for (const auto& message : in.messages()) {
    CD_ASSIGN(Message plain, taken(message));
    messages.push_back(std::move(plain));
  }
  return messages;
}

template <class Wire>
static void append(const Wire& one, std::string& batch) {
  CD_CHECK(one.AppendToString(&batch), "a message of {} bytes", one.ByteSizeLong());
}

}  // namespace crossdock::control::wire

namespace crossdock::control {

using namespace wire;

void append_message(const AgentMessage& message, std::string& batch) {
  google::protobuf::Arena arena;
  auto& one = *google::protobuf::Arena::CreateMessage<pb::AgentMessages>(&arena);
  pb::AgentMessage& out = *one.add_messages();
  std::visit(Overloaded{
                 [&](const JoinRequest& in) { put(in, *out.mutable_join()); },
                 [&](const Heartbeat&) { out.mutable_heartbeat(); },
                 [&](const Applied& in) { out.mutable_applied()->set_channel(in.channel.value); },
                 [&](const Refused& in) {
                   out.mutable_refused()->set_channel(in.channel.value);
                   put(in.error, *out.mutable_refused()->mutable_error());
                 },
                 [&](const Closed& in) { out.mutable_closed()->set_channel(in.channel.value); },
                 [&](const Held& in) {
                   out.mutable_held()->set_endpoint(in.endpoint.value);
                   out.mutable_held()->set_is_gone(in.is_gone);
                 },
             },
             message);
  append(one, batch);
}

void append_message(const ControllerMessage& message, std::string& batch) {
  google::protobuf::Arena arena;
  auto& one = *google::protobuf::Arena::CreateMessage<pb::ControllerMessages>(&arena);
  pb::ControllerMessage& out = *one.add_messages();
  std::visit(Overloaded{
                 [&](const Welcome& in) {
                   out.mutable_welcome()->set_epoch(in.epoch);
                   out.mutable_welcome()->set_heartbeat_s(in.heartbeat_s);
                   out.mutable_welcome()->set_lost_after_s(in.lost_after_s);
                 },
                 [&](const Hold& in) { put(in.endpoint, *out.mutable_hold()->mutable_endpoint()); },
                 [&](const Apply& in) { put(*in.part, *out.mutable_apply()->mutable_part()); },
                 [&](const Close& in) {
                   out.mutable_close()->set_channel(in.channel.value);
                   put(in.cause, *out.mutable_close()->mutable_cause());
                 },
                 [&](const Leave& in) { put(in.cause, *out.mutable_leave()->mutable_cause()); },
             },
             message);
  append(one, batch);
}

Result<std::vector<AgentMessage>> decode_agent_messages(std::string_view batch) {
  return decoded<pb::AgentMessages, AgentMessage>(batch);
}

Result<std::vector<ControllerMessage>> decode_controller_messages(std::string_view batch) {
  return decoded<pb::ControllerMessages, ControllerMessage>(batch);
}

}  // namespace crossdock::control
