#include "topology/graph_json.hpp"

#include <limits>
#include <map>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "topology/json_fields.hpp"

namespace crossdock::topology {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr ErrorCode kGraphJsonCode = ErrorCode::kInvalidTopology;
constexpr std::string_view kFormat = "crossdock-topology";
constexpr int64_t kSmallMax = std::numeric_limits<int32_t>::max();

// ---- writing -------------------------------------------------------------------------------------------------------

OrderedJson vertex_to_json(const Vertex& vertex) {
  OrderedJson json;
  json["name"] = vertex.name;
  json["kind"] = kind_name(vertex.kind);
  if (!vertex.model.empty()) json["model"] = vertex.model;
  if (!vertex.bus_id.empty()) json["bus_id"] = vertex.bus_id;
  if (vertex.numa_node >= 0) json["numa_node"] = vertex.numa_node;
  if (vertex.rail >= 0) json["rail"] = vertex.rail;
  if (vertex.memory_bytes > 0) json["memory_bytes"] = vertex.memory_bytes;
  return json;
}

// Whether the other direction says the same, so that one line can stand for both.
bool is_mirrored(const Edge& edge, const Edge* back) {
  if (back == nullptr) return false;
  Edge turned = *back;
  std::swap(turned.from, turned.to);
  return turned == edge;
}

OrderedJson edges_to_json(const ServerShape& shape) {
  OrderedJson edges = OrderedJson::array();
  for (const Edge& edge : shape.edges()) {
    const bool is_both = is_mirrored(edge, shape.find_edge(edge.to, edge.from));
    if (is_both && edge.to < edge.from) continue;
    OrderedJson json;
    json["from"] = shape.vertex(edge.from).name;
    json["to"] = shape.vertex(edge.to).name;
    json["kind"] = kind_name(edge.kind);
    json["bytes_per_s"] = edge.bytes_per_s;
    if (edge.latency_s > 0) json["latency_s"] = edge.latency_s;
    if (edge.width > 0) json["width"] = edge.width;
    if (edge.full_width > 0) json["full_width"] = edge.full_width;
    if (edge.is_assumed) json["assumed"] = true;
    json["both_ways"] = is_both;
    edges.push_back(std::move(json));
  }
  return edges;
}

// ---- reading -------------------------------------------------------------------------------------------------------

Result<Vertex> read_vertex(const Json& json, std::string place) {
  const JsonFields fields(json, std::move(place));
  CD_TRY(fields.allow({"name", "kind", "model", "bus_id", "numa_node", "rail", "memory_bytes"}));
  Vertex vertex;
  CD_ASSIGN(vertex.name, fields.text("name"));
  CD_ASSIGN(const std::string kind, fields.text("kind"));
  const std::optional<VertexKind> known = vertex_kind_of(kind);
  if (!known)
    return fields.misfit("kind", "cpu, gpu, nic, pcie_switch, nvswitch, drive or network");
  vertex.kind = *known;
  CD_ASSIGN(vertex.model, fields.text_or("model", ""));
  CD_ASSIGN(vertex.bus_id, fields.text_or("bus_id", ""));
  CD_ASSIGN(const int64_t numa_node, fields.integer_or("numa_node", -1, -1, kSmallMax));
  CD_ASSIGN(const int64_t rail, fields.integer_or("rail", -1, -1, kSmallMax));
  CD_ASSIGN(vertex.memory_bytes, fields.integer_or("memory_bytes", 0, 0, INT64_MAX));
  vertex.numa_node = static_cast<int32_t>(numa_node);
  vertex.rail = static_cast<int32_t>(rail);
  return vertex;
}

using NameTable = std::map<std::string, VertexIndex, std::less<>>;

Result<VertexIndex> read_end(const JsonFields& fields,
                             std::string_view field,
                             const NameTable& names) {
  CD_ASSIGN(const std::string name, fields.text(field));
  const auto entry = names.find(name);
  if (entry != names.end()) return entry->second;
  std::vector<std::string> known;
  for (const auto& [vertex, index] : names) known.push_back(vertex);
  const std::string near = nearest_name(name.substr(0, kNameBytesMax), known);
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  return fields.misfit(field, "the name of a vertex of the same shape" + hint);
}

// Adds the edge to `parts`, or both directions of it.
Status read_edge(const Json& json, std::string place, const NameTable& names, ServerParts& parts) {
  const JsonFields fields(json, std::move(place));
  CD_TRY(fields.allow({"from",
                       "to",
                       "kind",
                       "bytes_per_s",
                       "latency_s",
                       "width",
                       "full_width",
                       "assumed",
                       "both_ways"}));
  Edge edge;
  CD_ASSIGN(edge.from, read_end(fields, "from", names));
  CD_ASSIGN(edge.to, read_end(fields, "to", names));
  CD_ASSIGN(const std::string kind, fields.text("kind"));
  const std::optional<LinkKind> known = link_kind_of(kind);
  if (!known) return fields.misfit("kind", "pcie, nvlink, c2c, socket, nic_direct or network");
  edge.kind = *known;
  CD_ASSIGN(edge.bytes_per_s, fields.number("bytes_per_s"));
  CD_ASSIGN(edge.latency_s, fields.number_or("latency_s", 0));
  CD_ASSIGN(const int64_t width, fields.integer_or("width", 0, 0, kServerEdgesMax));
  CD_ASSIGN(const int64_t full_width, fields.integer_or("full_width", 0, 0, kServerEdgesMax));
  edge.width = static_cast<int32_t>(width);
  edge.full_width = static_cast<int32_t>(full_width);
  CD_ASSIGN(edge.is_assumed, fields.flag_or("assumed", false));
  CD_ASSIGN(const bool is_both, fields.flag_or("both_ways", false));
  if (is_both)
    parts.connect(edge.from, edge.to, edge);
  else
    parts.edges.push_back(edge);
  return {};
}

Result<ServerShape> read_shape(const Json& json, const std::string& place) {
  const JsonFields fields(json, place);
  CD_TRY(fields.allow({"vertices", "edges"}));
  CD_ASSIGN(const Json* vertices, fields.list("vertices", kServerVerticesMax));
  CD_ASSIGN(const Json* edges, fields.list("edges", kServerEdgesMax));
  ServerParts parts;
  NameTable names;
  for (size_t i = 0; i < vertices->size(); ++i) {
    CD_ASSIGN(Vertex vertex, read_vertex((*vertices)[i], fmt::format("{}.vertices[{}]", place, i)));
    const std::string name = vertex.name;
    names.emplace(name, parts.add(std::move(vertex)));  // a name that is taken: make_shape says so
  }
  for (size_t i = 0; i < edges->size(); ++i) {
    CD_TRY(read_edge((*edges)[i], fmt::format("{}.edges[{}]", place, i), names, parts));
  }
  Result<ServerShape> shape = make_shape(std::move(parts));
  if (!shape.ok()) return make_error(kGraphJsonCode, "{}: {}", place, shape.error().message);
  return shape;
}

using Shapes = std::vector<std::shared_ptr<const ServerShape>>;

Result<InfrastructureGraph> read_servers(const Json& servers, const Shapes& shapes) {
  InfrastructureGraph graph;
  std::vector<bool> is_used(shapes.size());
  for (size_t i = 0; i < servers.size(); ++i) {
    const std::string place = fmt::format("servers[{}]", i);
    const JsonFields fields(servers[i], place);
    CD_TRY(fields.allow({"name", "shape"}));
    CD_ASSIGN(std::string name, fields.text("name"));
    CD_ASSIGN(const int64_t shape,
              fields.integer("shape", 0, static_cast<int64_t>(shapes.size()) - 1));
    is_used[static_cast<size_t>(shape)] = true;
    const auto added = graph.add_server(std::move(name), shapes[static_cast<size_t>(shape)]);
    if (!added.ok()) return make_error(kGraphJsonCode, "{}: {}", place, added.error().message);
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!is_used[i])
      return make_error(kGraphJsonCode, "shapes[{}] has no server; leave it out or name one", i);
  }
  if (graph.server_count() == 0)
    return make_error(kGraphJsonCode, "servers is empty; name one at least");
  return graph;
}

}  // namespace

std::string graph_to_json(const InfrastructureGraph& graph, int indent) {
  OrderedJson json;
  json["format"] = kFormat;
  json["schema_version"] = kGraphSchemaVersion;
  json["shapes"] = OrderedJson::array();
  for (ShapeIndex i = 0; i < static_cast<ShapeIndex>(graph.shape_count()); ++i) {
    const ServerShape& shape = *graph.shape_at(i);
    OrderedJson vertices = OrderedJson::array();
    for (const Vertex& vertex : shape.vertices()) vertices.push_back(vertex_to_json(vertex));
    json["shapes"].push_back({{"vertices", std::move(vertices)}, {"edges", edges_to_json(shape)}});
  }
  json["servers"] = OrderedJson::array();
  for (ServerIndex i = 0; i < static_cast<ServerIndex>(graph.server_count()); ++i) {
    json["servers"].push_back({{"name", graph.server_name(i)}, {"shape", graph.shape_index(i)}});
  }
  // Names come from files and from the kernel; bytes that are no UTF-8 are replaced, not thrown about.
  return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

Result<InfrastructureGraph> graph_from_json(std::string_view text) {
  CD_ASSIGN(const Json json, parse_strict_json(text, "the topology", kGraphTextBytesMax));
  const JsonFields fields(json, "");
  CD_TRY(fields.allow({"format", "schema_version", "shapes", "servers"}));
  CD_ASSIGN(const std::string format, fields.text("format"));
  if (format != kFormat) return fields.misfit("format", fmt::format("\"{}\"", kFormat));
  CD_ASSIGN(const int64_t version, fields.integer("schema_version", 0, INT64_MAX));
  if (version != kGraphSchemaVersion) {
    return make_error(kGraphJsonCode,
                      "schema_version is {}; this Crossdock reads {}",
                      version,
                      kGraphSchemaVersion);
  }
  CD_ASSIGN(const Json* shapes, fields.list("shapes", kServersMax));
  CD_ASSIGN(const Json* servers, fields.list("servers", kServersMax));
  Shapes read;
  for (size_t i = 0; i < shapes->size(); ++i) {
    CD_ASSIGN(ServerShape shape, read_shape((*shapes)[i], fmt::format("shapes[{}]", i)));
    read.push_back(std::make_shared<const ServerShape>(std::move(shape)));
  }
  return read_servers(*servers, read);
}

}  // namespace crossdock::topology
