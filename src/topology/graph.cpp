// Names of kinds, the shape of a server, and the servers of an infrastructure. Simplification is in simplify.cpp.
#include "topology/graph.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "base/text_cut.hpp"

namespace crossdock::topology {
namespace {

constexpr std::array<std::string_view, kVertexKinds> kVertexKindNames = {
    "cpu", "gpu", "nic", "pcie_switch", "nvswitch", "drive", "network"};
constexpr std::array<std::string_view, kLinkKinds> kLinkKindNames = {
    "pcie", "nvlink", "c2c", "socket", "nic_direct", "network"};

template <class Kind, size_t N>
std::optional<Kind> kind_of(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto place = std::find(names.begin(), names.end(), name);
  if (place == names.end()) return std::nullopt;
  return static_cast<Kind>(place - names.begin());
}

int64_t text_bytes(const std::string& text) {
  return text.capacity() < sizeof(std::string) ? 0 : static_cast<int64_t>(text.capacity());
}

}  // namespace

std::string_view kind_name(VertexKind kind) { return kVertexKindNames[static_cast<size_t>(kind)]; }
std::string_view kind_name(LinkKind kind) { return kLinkKindNames[static_cast<size_t>(kind)]; }

std::optional<VertexKind> vertex_kind_of(std::string_view name) {
  return kind_of<VertexKind>(kVertexKindNames, name);
}

std::optional<LinkKind> link_kind_of(std::string_view name) {
  return kind_of<LinkKind>(kLinkKindNames, name);
}

VertexIndex ServerParts::add(Vertex vertex) {
  CD_CHECK(vertices.size() < UINT16_MAX, "vertices {}", vertices.size());
  vertices.push_back(std::move(vertex));
  return static_cast<VertexIndex>(vertices.size() - 1);
}

VertexIndex ServerParts::add(VertexKind kind, std::string name) {
  Vertex vertex;
  vertex.kind = kind;
  vertex.name = std::move(name);
  return add(std::move(vertex));
}

void ServerParts::connect(VertexIndex a, VertexIndex b, Edge link) {
  link.from = a;
  link.to = b;
  edges.push_back(link);
  std::swap(link.from, link.to);
  edges.push_back(link);
}

// ---- a server ------------------------------------------------------------------------------------------------------

VertexRange ServerShape::of_kind(VertexKind kind) const {
  const auto [first, last] =
      std::equal_range(vertices_.begin(), vertices_.end(), kind, [](const auto& a, const auto& b) {
        const auto kind_at = [](const auto& x) {
          if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Vertex>)
            return x.kind;
          else
            return x;
        };
        return kind_at(a) < kind_at(b);
      });
  return {static_cast<VertexIndex>(first - vertices_.begin()),
          static_cast<VertexIndex>(last - first)};
}

const Edge* ServerShape::find_edge(VertexIndex from, VertexIndex to) const {
  const std::span<const Edge> out = out_edges(from);
  const auto edge = std::lower_bound(
      out.begin(), out.end(), to, [](const Edge& one, VertexIndex end) { return one.to < end; });
  return edge != out.end() && edge->to == to ? &*edge : nullptr;
}

std::optional<VertexIndex> ServerShape::find_vertex(std::string_view name) const {
  for (size_t i = 0; i < vertices_.size(); ++i) {
    if (vertices_[i].name == name) return static_cast<VertexIndex>(i);
  }
  return std::nullopt;
}

std::optional<VertexIndex> ServerShape::network() const {
  if (vertices_.empty() || vertices_.back().kind != VertexKind::kNetwork) return std::nullopt;
  return static_cast<VertexIndex>(vertices_.size() - 1);
}

int64_t ServerShape::memory_bytes() const {
  int64_t bytes = sizeof(*this);
  bytes += static_cast<int64_t>(vertices_.capacity() * sizeof(Vertex) +
                                edges_.capacity() * sizeof(Edge) +
                                first_edge_.capacity() * sizeof(uint32_t));
  for (const Vertex& vertex : vertices_) {
    bytes += text_bytes(vertex.name) + text_bytes(vertex.model) + text_bytes(vertex.bus_id);
  }
  return bytes;
}

bool same_structure(const ServerShape& a, const ServerShape& b) {
  if (a.structure_hash() != b.structure_hash()) return false;
  const auto same_kind = [](const Vertex& x, const Vertex& y) { return x.kind == y.kind; };
  const auto same_edge = [](const Edge& x, const Edge& y) {
    return x.from == y.from && x.to == y.to && x.kind == y.kind && x.bytes_per_s == y.bytes_per_s &&
           x.latency_s == y.latency_s;
  };
  return std::ranges::equal(a.vertices(), b.vertices(), same_kind) &&
         std::ranges::equal(a.edges(), b.edges(), same_edge);
}

// ---- the infrastructure --------------------------------------------------------------------------------------------

// Two shapes whose hashes collide are kept apart, which costs sharing and nothing else.
ShapeIndex InfrastructureGraph::intern(std::shared_ptr<const ServerShape> shape) {
  const auto index = static_cast<ShapeIndex>(shapes_.size());
  const auto [known, is_new] = shape_of_identity_.try_emplace(shape->identity_hash(), index);
  if (!is_new && *shapes_[known->second] == *shape) return known->second;
  const auto [alike, is_first] = shape_of_structure_.try_emplace(shape->structure_hash(), index);
  const bool is_alike = !is_first && same_structure(*shapes_[alike->second], *shape);
  structure_of_.push_back(is_alike ? alike->second : index);
  shapes_.push_back(std::move(shape));
  return index;
}

Result<ServerIndex> InfrastructureGraph::add_server(std::string name,
                                                    std::shared_ptr<const ServerShape> shape) {
  CD_CHECK(shape != nullptr, "server {}", name);
  constexpr ErrorCode kCode = ErrorCode::kInvalidTopology;
  if (name.empty() || name.size() > kNameBytesMax || name.find('/') != std::string::npos) {
    return make_error(kCode,
                      "a server cannot be called '{}': names have 1 to {} bytes and no '/'",
                      first_characters(name, kNameBytesMax),
                      kNameBytesMax);
  }
  if (server_count() >= kServersMax) {
    return make_error(kCode, "server '{}' would be one more than {}", name, kServersMax);
  }
  if (server_of_name_.contains(name)) {
    return make_error(kCode, "there are two servers called '{}'; give one another name", name);
  }
  const bool has_net = shape->network().has_value();
  const bool others_have = networks_ == shape_of_.size();
  if (!shape_of_.empty() && !(has_net && others_have)) {
    return make_error(kCode,
                      "server '{}' has no link to the network, so '{}' cannot reach it; add an "
                      "edge between one of its NICs and a vertex of kind network",
                      has_net ? names_[0] : name,
                      has_net ? name : names_[0]);
  }
  const auto vertices = static_cast<GlobalVertex>(shape->vertex_count() - (has_net ? 1 : 0));
  const auto server = static_cast<ServerIndex>(shape_of_.size());
  shape_of_.push_back(intern(std::move(shape)));
  first_vertex_.push_back(first_vertex_.back() + vertices);
  networks_ += has_net ? 1 : 0;
  server_of_name_.emplace(name, server);
  names_.push_back(std::move(name));
  return server;
}

std::optional<ServerIndex> InfrastructureGraph::find_server(std::string_view name) const {
  const auto entry = server_of_name_.find(std::string(name));
  if (entry == server_of_name_.end()) return std::nullopt;
  return entry->second;
}

uint32_t InfrastructureGraph::vertex_count() const {
  return first_vertex_.back() + (has_network() ? 1 : 0);
}

uint32_t InfrastructureGraph::count_of(VertexKind kind) const {
  if (kind == VertexKind::kNetwork) return has_network() ? 1 : 0;
  std::vector<uint32_t> per_shape(shapes_.size());
  for (size_t i = 0; i < shapes_.size(); ++i) per_shape[i] = shapes_[i]->of_kind(kind).count;
  uint32_t count = 0;
  for (const ShapeIndex shape : shape_of_) count += per_shape[shape];
  return count;
}

GlobalVertex InfrastructureGraph::global(Location location) const {
  const bool is_network = shape(location.server).kind(location.vertex) == VertexKind::kNetwork;
  return is_network ? network() : first_vertex_[location.server] + location.vertex;
}

std::string InfrastructureGraph::full_name(Location location) const {
  const Vertex& vertex = shape(location.server).vertex(location.vertex);
  if (server_count() == 1 || vertex.kind == VertexKind::kNetwork) return vertex.name;
  return names_[location.server] + "/" + vertex.name;
}

Result<Location> InfrastructureGraph::find(std::string_view full_name) const {
  const size_t slash = full_name.find('/');
  const bool is_qualified = slash != std::string_view::npos;
  const std::string_view name = is_qualified ? full_name.substr(slash + 1) : full_name;
  std::optional<ServerIndex> server;
  if (is_qualified)
    server = find_server(full_name.substr(0, slash));
  else if (server_count() == 1)
    server = 0;
  if (!server) {
    const std::string near = is_qualified ? nearest_name(full_name.substr(0, slash), names_) : "";
    const std::string hint = !is_qualified ? fmt::format(
                                                 "there are {} servers, so write "
                                                 "server/name, as in {}/{}",
                                                 server_count(),
                                                 names_.empty() ? "server" : names_[0],
                                                 full_name)
                           : near.empty() ? fmt::format("the first of {} servers is called '{}'",
                                                        server_count(),
                                                        names_.empty() ? "" : names_[0])
                                          : fmt::format("did you mean '{}/{}'?", near, name);
    return make_error(
        ErrorCode::kInvalidTopology, "no server has a vertex '{}': {}", full_name, hint);
  }
  const std::optional<VertexIndex> vertex = shape(*server).find_vertex(name);
  if (vertex) return Location{*server, *vertex};
  std::vector<std::string> candidates;
  for (const Vertex& candidate : shape(*server).vertices()) candidates.push_back(candidate.name);
  const std::string near = nearest_name(name, candidates);
  return make_error(ErrorCode::kInvalidTopology,
                    "server '{}' has no vertex '{}': {}",
                    names_[*server],
                    name,
                    near.empty() ? fmt::format("it has {}", fmt::join(candidates, ", "))
                                 : fmt::format("did you mean '{}'?", near));
}

int64_t InfrastructureGraph::memory_bytes() const {
  int64_t bytes = sizeof(*this);
  for (const auto& shape : shapes_) bytes += shape->memory_bytes();
  for (const std::string& name : names_) bytes += 2 * text_bytes(name);
  // A node of a hash table is a link, a hash and its pair; the tables of shapes are as small as the shapes are few.
  bytes += static_cast<int64_t>(server_of_name_.size()) *
           static_cast<int64_t>(3 * sizeof(void*) + sizeof(std::string));
  bytes += static_cast<int64_t>(shapes_.size() * 2 * 4 * sizeof(void*));
  bytes += static_cast<int64_t>(server_of_name_.bucket_count() * sizeof(void*));
  bytes += static_cast<int64_t>(
      shapes_.capacity() * sizeof(shapes_[0]) + structure_of_.capacity() * sizeof(ShapeIndex) +
      names_.capacity() * sizeof(std::string) + shape_of_.capacity() * sizeof(ShapeIndex) +
      first_vertex_.capacity() * sizeof(GlobalVertex));
  return bytes;
}

}  // namespace crossdock::topology
