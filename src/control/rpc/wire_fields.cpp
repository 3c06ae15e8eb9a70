#include "control/rpc/wire_fields.hpp"

#include <limits>

#include <google/protobuf/stubs/logging.h>

#include "base/check.hpp"
#include "control/protocol/check.hpp"
#include "topology/graph_json.hpp"

namespace crossdock::control::wire {
namespace {

bool is_known(uint32_t code) {
  for (const ErrorInfo& info : error_table()) {
    if (static_cast<uint32_t>(info.code) == code) return true;
  }
  return false;
}

}  // namespace

Error malformed(std::string_view field, std::string_view what) {
  return make_error(ErrorCode::kMalformedMessage,
                    "a control message breaks the protocol: {} {}\n"
                    "  try      the same version of Crossdock on both sides",
                    field,
                    what);
}

Status check_at_most(std::string_view field, uint64_t value, uint64_t limit) {
  if (value <= limit) return {};
  return malformed(field, fmt::format("is {}, the limit is {}", value, limit));
}

Status parse(std::string_view bytes, google::protobuf::MessageLite& message) {
  // protobuf would write a line to stderr for each text that is no UTF-8, as often as a peer sends one.
  static const auto silenced = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(silenced);
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return malformed(message.GetTypeName(),
                     fmt::format("cannot be read from {} bytes", bytes.size()));
  }
  return {};
}

void put(const RequestId& id, pb::RequestId& out) {
  out.set_high(id.high);
  out.set_low(id.low);
}

RequestId taken(const pb::RequestId& id) { return {id.high(), id.low()}; }

void put(const Error& error, pb::Error& out) {
  Error sent = sendable(error);
  out.set_code(static_cast<uint32_t>(sent.code));
  out.set_message(std::move(sent.message));
}

Status take(std::string_view field, const pb::Error& error, Error& out) {
  if (!is_known(error.code())) {
    return malformed(field, fmt::format("has the unknown code {}", error.code()));
  }
  out = {static_cast<ErrorCode>(error.code()), error.message()};
  return {};
}

void put(const ChannelRows& rows, pb::ChannelRows& out) {
  out.set_schema(rows.schema);
  out.mutable_partition_key()->Assign(rows.partition_key.begin(), rows.partition_key.end());
}

ChannelRows taken(const pb::ChannelRows& rows) {
  return {rows.schema(), {rows.partition_key().begin(), rows.partition_key().end()}};
}

void put(const std::vector<EndpointId>& ids, Ids& out) {
  out.Reserve(static_cast<int>(ids.size()));
  for (const EndpointId id : ids) out.AddAlreadyReserved(id.value);
}

std::vector<EndpointId> taken(const Ids& ids) {
  std::vector<EndpointId> out;
  out.reserve(static_cast<size_t>(ids.size()));
  for (const uint64_t id : ids) out.push_back({id});
  return out;
}

std::string topology_text(const std::string& name,
                          std::shared_ptr<const topology::ServerShape> shape) {
  topology::InfrastructureGraph graph;
  const Result<topology::ServerIndex> added = graph.add_server(name, std::move(shape));
  CD_CHECK(added.ok(), "{}", added.error().message);
  return topology::graph_to_json(graph);
}

Result<std::shared_ptr<const topology::ServerShape>> shape_of(std::string_view field,
                                                              const std::string& name,
                                                              std::string_view text) {
  const Result<topology::InfrastructureGraph> graph = topology::graph_from_json(text);
  if (!graph.ok()) return malformed(field, fmt::format("is none: {}", graph.error().message));
  if (graph.value().server_count() != 1 || graph.value().server_name(0) != name) {
    return malformed(field, fmt::format("is not of the one server {:?}", name));
  }
  return graph.value().shape_at(0);
}

}  // namespace crossdock::control::wire
