#include "control/protocol/check.hpp"

#include <algorithm>
#include <string_view>

#include "base/result.hpp"
#include "base/text_cut.hpp"

namespace crossdock::control {
namespace {

template <class... Args>
Error malformed(fmt::format_string<Args...> text, Args&&... args) {
  return make_error(ErrorCode::kMalformedMessage, text, std::forward<Args>(args)...);
}

constexpr double kLongestS = 1e9;

Status check_size(std::string_view field, size_t size, size_t limit) {
  if (size <= limit) return {};
  return malformed("{} has {} elements; the limit is {}", field, size, limit);
}

Status check_id(std::string_view field, uint64_t id) {
  if (id != 0) return {};
  return malformed("{} is 0, which names nothing; send an id that the controller gave", field);
}

Status check_request_id(std::string_view message, RequestId id) {
  if (id != RequestId()) return {};
  return malformed(
      "{}.request is all zero; draw 128 random bits for a new request and repeat "
      "them with every repetition",
      message);
}

Status check_name(std::string_view field, std::string_view name) {
  if (name.empty() || name.size() > topology::kNameBytesMax) {
    return malformed(
        "{} has {} bytes; a name has 1 to {}", field, name.size(), topology::kNameBytesMax);
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(name, is_control) || name.find('/') != std::string_view::npos) {
    return malformed("{} has a '/' or a control character in it; take letters and digits", field);
  }
  return {};
}

Status check_rows(std::string_view message, const ChannelRows& rows) {
  if (rows.schema.size() > kSchemaBytesMax) {
    return malformed("{}.rows.schema has {} bytes; the limit is {}",
                     message,
                     rows.schema.size(),
                     kSchemaBytesMax);
  }
  CD_TRY(check_size(fmt::format("{}.rows.partition_key", message),
                    rows.partition_key.size(),
                    kPartitionColumnsMax));
  if (rows.schema.empty() && !rows.partition_key.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}.rows has a partition key of {} columns and no schema that they could be "
                      "columns of; give the schema, or no key",
                      message,
                      rows.partition_key.size());
  }
  return {};
}

Status check_error(std::string_view field, const Error& error) {
  const auto has_code = [&](const ErrorInfo& info) { return info.code == error.code; };
  if (std::ranges::none_of(error_table(), has_code)) {
    return malformed(
        "{}.code is {}, which is no code of ours", field, static_cast<int>(error.code));
  }
  if (error.message.size() > kErrorTextBytesMax) {
    return malformed("{}.message has {} bytes; the limit is {}",
                     field,
                     error.message.size(),
                     kErrorTextBytesMax);
  }
  return {};
}

// No id of 0, and none twice; `code` is whose fault a repetition is.
template <class Id>
Status check_ids(std::string_view field, const std::vector<Id>& ids, ErrorCode code) {
  CD_TRY(check_size(field, ids.size(), kRequestEndpointsMax));
  for (const Id id : ids) CD_TRY(check_id(field, id.value));
  if (std::ranges::is_sorted(ids, std::less_equal())) return {};
  std::vector<Id> sorted = ids;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return {};
  return make_error(code, "{} names {} twice; name each once", field, text_of(*twice));
}

// ---- requests ----------------------------------------------------------------------------------------------------

Status check_request(const CreateEndpoint& request) {
  CD_TRY(check_request_id("CreateEndpoint", request.request));
  CD_TRY(check_name("CreateEndpoint.agent", request.agent));
  return check_name("CreateEndpoint.vertex", request.vertex);
}

Status check_request(const DeleteEndpoint& request) {
  return check_id("DeleteEndpoint.endpoint", request.endpoint.value);
}

Status check_request(const CreateChannel& request) {
  CD_TRY(check_request_id("CreateChannel", request.request));
  if (request.sources.empty() || request.destinations.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a channel from {} sources to {} destinations; it needs at least one of each",
                      request.sources.size(),
                      request.destinations.size());
  }
  constexpr ErrorCode kCode = ErrorCode::kInvalidArgument;
  CD_TRY(check_ids("CreateChannel.sources", request.sources, kCode));
  CD_TRY(check_ids("CreateChannel.destinations", request.destinations, kCode));
  return check_rows("CreateChannel", request.rows);
}

Status check_request(const DeleteChannel& request) {
  return check_id("DeleteChannel.channel", request.channel.value);
}

Status check_request(const AskStatus&) { return {}; }
Status check_request(const AskServer&) { return {}; }
Status check_request(const AskPart& request) {
  return check_id("AskPart.channel", request.channel.value);
}
Status check_request(const KeepEndpoint& request) {
  return check_request_id("KeepEndpoint", request.request);
}

Status check_request(const Meet& request) {
  CD_TRY(check_request_id("Meet", request.request));
  CD_TRY(check_name("Meet.group", request.group));
  if (request.size < 1 || request.size > kGroupRanksMax || request.rank >= request.size) {
    return make_error(ErrorCode::kInvalidArgument,
                      "rank {} of {} in group '{}': ranks count from 0, and there are 1 to {}",
                      request.rank,
                      request.size,
                      request.group,
                      kGroupRanksMax);
  }
  if (request.said.size() > kSaidBytesMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "rank {} of group '{}' passes {} bytes to the others; the limit is {}, rows "
                      "go through channels",
                      request.rank,
                      request.group,
                      request.said.size(),
                      kSaidBytesMax);
  }
  // Written so that NaN, which is above nothing, is refused too.
  if (request.within_s > 0 && request.within_s < kLongestS) return {};
  return malformed("Meet.within_s is {}; it is above 0 and below {}", request.within_s, kLongestS);
}

// ---- messages of agents ------------------------------------------------------------------------------------------

bool is_managed_vertex(const topology::ServerShape& shape, std::string_view name) {
  const auto vertex = shape.find_vertex(name);
  return vertex && topology::is_managed(shape.kind(*vertex));
}

Status check_held(const HeldEndpoint& held, const topology::ServerShape& shape) {
  CD_TRY(check_id("Join.endpoints.endpoint", held.endpoint.value));
  CD_TRY(check_name("Join.endpoints.vertex", held.vertex));
  if (is_managed_vertex(shape, held.vertex)) return {};
  return malformed("Join.endpoints.vertex is '{}', which is no CPU or GPU of the agent's shape",
                   held.vertex);
}

Status check_held(const HeldChannel& held, const std::string& agent) {
  CD_TRY(check_id("Join.channels.channel", held.channel.value));
  constexpr ErrorCode kCode = ErrorCode::kMalformedMessage;
  CD_TRY(check_ids("Join.channels.sources", held.sources, kCode));
  CD_TRY(check_ids("Join.channels.destinations", held.destinations, kCode));
  CD_TRY(check_rows("Join.channels", held.rows));
  CD_TRY(check_size("Join.channels.servers", held.servers.size(), topology::kServersMax));
  for (const std::string& server : held.servers) {
    CD_TRY(check_name("Join.channels.servers", server));
  }
  if (!std::ranges::is_sorted(held.servers, std::less_equal())) {
    return malformed("Join.channels.servers of {} are not in ascending order, each once",
                     text_of(held.channel));
  }
  if (!std::ranges::binary_search(held.servers, agent)) {
    return malformed("Join.channels.servers of {} do not name the agent itself, '{}'",
                     text_of(held.channel),
                     agent);
  }
  return {};
}

template <class Held, class IdOf>
Status check_once(std::string_view field, const std::vector<Held>& held, IdOf id_of) {
  std::vector<decltype(id_of(held[0]))> ids;
  ids.reserve(held.size());
  for (const Held& one : held) ids.push_back(id_of(one));
  return check_ids(field, ids, ErrorCode::kMalformedMessage);
}

Status check_message(const JoinRequest& join) {
  if (join.protocol_version != kProtocolVersion) return {};
  CD_TRY(check_name("Join.name", join.name));
  CD_TRY(check_id("Join.instance", join.instance.value));
  if (join.connection == 0) return malformed("Join.connection is 0; connections count from 1");
  if (!join.shape) return malformed("Join.shape is missing; an agent reports its server's graph");
  CD_TRY(check_size("Join.endpoints", join.endpoints.size(), kHeldEndpointsMax));
  CD_TRY(check_size("Join.channels", join.channels.size(), kHeldChannelsMax));
  for (const HeldEndpoint& held : join.endpoints) CD_TRY(check_held(held, *join.shape));
  for (const HeldChannel& held : join.channels) CD_TRY(check_held(held, join.name));
  CD_TRY(check_once(
      "Join.endpoints", join.endpoints, [](const HeldEndpoint& held) { return held.endpoint; }));
  return check_once(
      "Join.channels", join.channels, [](const HeldChannel& held) { return held.channel; });
}

Status check_message(const Heartbeat&) { return {}; }
Status check_message(const Applied& message) {
  return check_id("Applied.channel", message.channel.value);
}
Status check_message(const Refused& message) {
  CD_TRY(check_id("Refused.channel", message.channel.value));
  return check_error("Refused.error", message.error);
}
Status check_message(const Closed& message) {
  return check_id("Closed.channel", message.channel.value);
}
Status check_message(const Held& message) {
  return check_id("Held.endpoint", message.endpoint.value);
}

// ---- messages of the controller ----------------------------------------------------------------------------------

Status check_message(const Welcome& message, const topology::ServerShape&) {
  if (message.epoch == 0) return malformed("Welcome.epoch is 0, which is no epoch");
  const auto is_span = [](double span_s) { return span_s > 0 && span_s < kLongestS; };
  if (!is_span(message.heartbeat_s) || !is_span(message.lost_after_s)) {
    return malformed("Welcome.heartbeat_s is {} and lost_after_s {}; both are above 0 and finite",
                     message.heartbeat_s,
                     message.lost_after_s);
  }
  return {};
}

Status check_message(const Hold& message, const topology::ServerShape& shape) {
  const HeldEndpoint& held = message.endpoint;
  CD_TRY(check_id("Hold.endpoint", held.endpoint.value));
  if (held.vertex.empty() || is_managed_vertex(shape, held.vertex)) return {};
  return malformed("Hold.vertex is '{}', which is no CPU or GPU of this server",
                   first_characters(held.vertex, topology::kNameBytesMax));
}

Status check_planned(std::string_view field,
                     const std::vector<PlannedEndpoint>& planned,
                     size_t servers) {
  CD_TRY(check_size(field, planned.size(), kRequestEndpointsMax));
  for (const PlannedEndpoint& one : planned) {
    CD_TRY(check_id(field, one.endpoint.value));
    if (one.server >= servers || one.vertex >= topology::kServerVerticesMax) {
      return malformed("{} is vertex {} of server {}; there are {} servers of at most {} vertices",
                       field,
                       one.vertex,
                       one.server,
                       servers,
                       topology::kServerVerticesMax);
    }
  }
  return {};
}

Status check_outline(const ChannelOutline& outline) {
  CD_TRY(check_id("Apply.channel", outline.channel.value));
  CD_TRY(check_rows("Apply", outline.rows));
  CD_TRY(check_size("Apply.servers", outline.servers.size(), topology::kServersMax));
  for (const PlannedServer& server : outline.servers) {
    CD_TRY(check_name("Apply.servers", server.name));
  }
  if (!std::ranges::is_sorted(outline.servers, std::less_equal(), &PlannedServer::name)) {
    return malformed("Apply.servers are not in ascending order of their names, each once");
  }
  CD_TRY(check_planned("Apply.sources", outline.sources, outline.servers.size()));
  return check_planned("Apply.destinations", outline.destinations, outline.servers.size());
}

// Endpoints of server number `server`, whose shape is known, can be looked up there.
Status check_own(std::string_view field,
                 const std::vector<PlannedEndpoint>& planned,
                 uint32_t server,
                 const topology::ServerShape& shape) {
  for (const PlannedEndpoint& one : planned) {
    if (one.server != server) continue;
    if (one.vertex < shape.vertices().size() && topology::is_managed(shape.kind(one.vertex)))
      continue;
    return malformed("{} is vertex {} of this server, which is no CPU or GPU of its {} vertices",
                     field,
                     one.vertex,
                     shape.vertices().size());
  }
  return {};
}

Status check_placed(const topology::PlacedVertex& placed, const topology::ServerShape& shape) {
  const size_t vertices = placed.place == topology::Place::kHere
                            ? shape.vertices().size()
                            : static_cast<size_t>(topology::kServerVerticesMax);
  if (placed.vertex < vertices) return {};
  return malformed("Apply.tables name vertex {} of {}", placed.vertex, vertices);
}

Status check_table(const NamedTable& named, const topology::ServerShape& shape) {
  if (!is_managed_vertex(shape, named.vertex)) {
    return malformed("Apply.tables.vertex is '{}', which is no CPU or GPU of this server",
                     first_characters(named.vertex, topology::kNameBytesMax));
  }
  for (const topology::ForwardingTable::Entry& entry : named.table.entries()) {
    const bool is_own = entry.destination.structure == topology::DestinationKey::kOwnServer;
    CD_TRY(check_placed(
        {is_own ? topology::Place::kHere : topology::Place::kThere, entry.destination.vertex},
        shape));
    for (const topology::NextHop& hop : entry.next_hops) {
      CD_TRY(check_placed(hop.next, shape));
      for (const topology::HopPath& path : hop.paths) {
        for (const topology::PlacedVertex& placed : path.between)
          CD_TRY(check_placed(placed, shape));
      }
    }
  }
  return {};
}

Status check_message(const Apply& message, const topology::ServerShape& shape) {
  if (!message.part || !message.part->outline || !message.part->tables) {
    return malformed("Apply.part, its outline or its tables are missing");
  }
  const ServerPart& part = *message.part;
  CD_TRY(check_outline(*part.outline));
  if (part.server >= part.outline->servers.size()) {
    return malformed(
        "Apply.server is {}; there are {} servers", part.server, part.outline->servers.size());
  }
  CD_TRY(check_own("Apply.sources", part.outline->sources, part.server, shape));
  CD_TRY(check_own("Apply.destinations", part.outline->destinations, part.server, shape));
  CD_TRY(check_size("Apply.tables", part.tables->size(), shape.vertices().size()));
  for (const NamedTable& named : *part.tables) CD_TRY(check_table(named, shape));
  return {};
}

Status check_message(const Close& message, const topology::ServerShape&) {
  CD_TRY(check_id("Close.channel", message.channel.value));
  return check_error("Close.cause", message.cause);
}

Status check_message(const Leave& message, const topology::ServerShape&) {
  return check_error("Leave.cause", message.cause);
}

}  // namespace

Status check(const Request& request) {
  return std::visit([](const auto& one) { return check_request(one); }, request);
}

Status check(const AgentMessage& message) {
  return std::visit([](const auto& one) { return check_message(one); }, message);
}

Status check(const ControllerMessage& message, const topology::ServerShape& shape) {
  return std::visit([&](const auto& one) { return check_message(one, shape); }, message);
}

Error sendable(Error error) {
  constexpr std::string_view kCut = " ... (cut)";
  if (error.message.size() > kErrorTextBytesMax) {
    size_t kept = kErrorTextBytesMax - kCut.size();
    // Not in the middle of a character of UTF-8, which gRPC would not carry.
    while (kept > 0 && (static_cast<unsigned char>(error.message[kept]) & 0xc0) == 0x80) --kept;
    error.message.resize(kept);
    error.message += kCut;
  }
  return error;
}

}  // namespace crossdock::control
