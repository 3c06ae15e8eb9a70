// From the parts of a server to its shape: validation, simplification, and the order of vertices and edges.
#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_set>

#include "base/text_cut.hpp"
#include "topology/graph.hpp"

namespace crossdock::topology {
namespace {

constexpr ErrorCode kSimplifyCode = ErrorCode::kInvalidTopology;
// Beyond any link: refuses what was given in bits, or with a unit too many.
constexpr double kBytesPerSecondMax = 1e15;
constexpr double kLatencySecondsMax = 10;

constexpr uint32_t bit(VertexKind kind) { return 1U << static_cast<uint32_t>(kind); }

// The kinds of vertices that a kind of link can end at, one entry for either end.
struct LinkEnds {
  uint32_t one;
  uint32_t other;
};

LinkEnds ends_of(LinkKind kind) {
  using enum VertexKind;
  constexpr uint32_t kOnPcie = bit(kCpu) | bit(kGpu) | bit(kNic) | bit(kPcieSwitch) | bit(kDrive);
  constexpr uint32_t kOnNvlink = bit(kCpu) | bit(kGpu) | bit(kNvswitch);
  switch (kind) {
    case LinkKind::kPcie:
      return {kOnPcie, kOnPcie};
    case LinkKind::kNvlink:
      return {kOnNvlink, kOnNvlink};
    case LinkKind::kC2c:
      return {bit(kCpu) | bit(kGpu), bit(kCpu) | bit(kGpu)};
    case LinkKind::kSocket:
      return {bit(kCpu), bit(kCpu)};
    case LinkKind::kNicDirect:
      return {bit(kNic), bit(kGpu)};
    case LinkKind::kNetwork:
      return {bit(kNic), bit(kNetwork)};
  }
  return {0, 0};
}

bool may_join(LinkKind link, VertexKind a, VertexKind b) {
  const LinkEnds ends = ends_of(link);
  return ((bit(a) & ends.one) && (bit(b) & ends.other)) ||
         ((bit(b) & ends.one) && (bit(a) & ends.other));
}

// "gpu2" before "gpu10": runs of digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const auto digits = [&](std::string_view text, size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const size_t first = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return text.substr(first, at - first);
    };
    const std::string_view x = digits(a, i);
    const std::string_view y = digits(b, j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  const bool is_tie = i == a.size() && j == b.size();
  return is_tie ? a < b : i == a.size();
}

Status check_vertices(std::span<const Vertex> vertices) {
  if (vertices.size() > kServerVerticesMax) {
    return make_error(kSimplifyCode,
                      "a server has {} vertices; the most is {}",
                      vertices.size(),
                      kServerVerticesMax);
  }
  std::unordered_set<std::string_view> names;
  int managed = 0;
  int networks = 0;
  for (const Vertex& vertex : vertices) {
    if (vertex.name.empty() || vertex.name.size() > kNameBytesMax ||
        vertex.name.find('/') != std::string::npos) {
      return make_error(kSimplifyCode,
                        "a {} cannot be called '{}': names have 1 to {} bytes and no '/'",
                        kind_name(vertex.kind),
                        first_characters(vertex.name, kNameBytesMax),
                        kNameBytesMax);
    }
    if (!names.insert(vertex.name).second) {
      return make_error(kSimplifyCode,
                        "two vertices of a server are called '{}'; give one another name",
                        vertex.name);
    }
    if (vertex.memory_bytes < 0) {
      return make_error(kSimplifyCode,
                        "'{}' has {} bytes of memory; 0 means unknown",
                        vertex.name,
                        vertex.memory_bytes);
    }
    managed += is_managed(vertex.kind) ? 1 : 0;
    networks += vertex.kind == VertexKind::kNetwork ? 1 : 0;
  }
  if (managed == 0) {
    return make_error(kSimplifyCode,
                      "a server needs a CPU or a GPU; none of its {} vertices is one",
                      vertices.size());
  }
  if (networks > 1) {
    return make_error(kSimplifyCode,
                      "a server has {} vertices of kind network; all its NICs join the same one",
                      networks);
  }
  return {};
}

Status check_edge(const ServerParts& parts, const Edge& edge) {
  const size_t count = parts.vertices.size();
  if (edge.from >= count || edge.to >= count) {
    return make_error(kSimplifyCode,
                      "a {} edge joins vertices {} and {}, but there are only {}",
                      kind_name(edge.kind),
                      edge.from,
                      edge.to,
                      count);
  }
  const Vertex& from = parts.vertices[edge.from];
  const Vertex& to = parts.vertices[edge.to];
  if (edge.from == edge.to) {
    return make_error(kSimplifyCode, "an edge leads from '{}' to itself", from.name);
  }
  if (!may_join(edge.kind, from.kind, to.kind)) {
    return make_error(kSimplifyCode,
                      "a {} edge cannot join the {} '{}' and the {} '{}'",
                      kind_name(edge.kind),
                      kind_name(from.kind),
                      from.name,
                      kind_name(to.kind),
                      to.name);
  }
  if (!(edge.bytes_per_s > 0) || edge.bytes_per_s > kBytesPerSecondMax) {
    return make_error(kSimplifyCode,
                      "the edge from '{}' to '{}' has a capacity of {} bytes/s; it must be above "
                      "0 and at most {:g}. Leave an edge out that carries nothing",
                      from.name,
                      to.name,
                      edge.bytes_per_s,
                      kBytesPerSecondMax);
  }
  if (!(edge.latency_s >= 0) || edge.latency_s > kLatencySecondsMax) {
    return make_error(kSimplifyCode,
                      "the edge from '{}' to '{}' has a latency of {} s; it must be between 0 and "
                      "{:g}",
                      from.name,
                      to.name,
                      edge.latency_s,
                      kLatencySecondsMax);
  }
  if (edge.width < 0 || edge.full_width < 0) {
    return make_error(kSimplifyCode,
                      "the edge from '{}' to '{}' has a width of {} of {}; 0 means unknown",
                      from.name,
                      to.name,
                      edge.width,
                      edge.full_width);
  }
  return {};
}

// The new index of every vertex: NVSwitches fall together, the rest is ordered by kind and name.
std::vector<VertexIndex> order_vertices(std::vector<Vertex>& vertices) {
  std::vector<VertexIndex> order(vertices.size());
  std::iota(order.begin(), order.end(), VertexIndex{0});
  std::ranges::sort(order, [&](VertexIndex a, VertexIndex b) {
    if (vertices[a].kind != vertices[b].kind) return vertices[a].kind < vertices[b].kind;
    return natural_less(vertices[a].name, vertices[b].name);
  });
  std::vector<VertexIndex> index_of(vertices.size());
  std::vector<Vertex> ordered;
  ordered.reserve(vertices.size());
  for (const VertexIndex old : order) {
    const bool is_switch = vertices[old].kind == VertexKind::kNvswitch;
    const bool is_merged =
        is_switch && !ordered.empty() && ordered.back().kind == VertexKind::kNvswitch;
    if (!is_merged) ordered.push_back(std::move(vertices[old]));
    index_of[old] = static_cast<VertexIndex>(ordered.size() - 1);
    if (is_merged) ordered.back().bus_id.clear();  // it is no longer one device
  }
  vertices = std::move(ordered);
  return index_of;
}

void merge_edge(Edge& edge, const Edge& parallel) {
  // The widest link of a pair came first, so the kind is its kind. A width is known only if that of every link is.
  const bool has_width = edge.width > 0 && parallel.width > 0;
  const bool has_full = edge.full_width > 0 && parallel.full_width > 0;
  edge.width = has_width ? edge.width + parallel.width : 0;
  edge.full_width = has_full ? edge.full_width + parallel.full_width : 0;
  edge.bytes_per_s += parallel.bytes_per_s;
  edge.is_assumed = edge.is_assumed || parallel.is_assumed;
  edge.latency_s = std::min(edge.latency_s, parallel.latency_s);
}

// Edges by (from, to), one per pair. Those that join equal ends are put in an order of their own first, so that the
// sums do not depend on the order in which links were found.
std::vector<Edge> merge_edges(std::vector<Edge> edges) {
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    const auto key = [](const Edge& e) {
      return std::tuple(
          e.from, e.to, -e.bytes_per_s, e.kind, e.latency_s, e.width, e.full_width, e.is_assumed);
    };
    return key(a) < key(b);
  });
  std::vector<Edge> merged;
  for (const Edge& edge : edges) {
    if (edge.from == edge.to) continue;  // a trunk between two NVSwitches
    const bool is_parallel =
        !merged.empty() && merged.back().from == edge.from && merged.back().to == edge.to;
    if (is_parallel)
      merge_edge(merged.back(), edge);
    else
      merged.push_back(edge);
  }
  return merged;
}

uint64_t mix(uint64_t hash, uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

uint64_t hash_structure(std::span<const Vertex> vertices, std::span<const Edge> edges) {
  uint64_t hash = vertices.size();
  for (const Vertex& vertex : vertices) hash = mix(hash, static_cast<uint64_t>(vertex.kind));
  for (const Edge& edge : edges) {
    hash = mix(hash, uint64_t{edge.from} << 32 | edge.to);
    hash = mix(hash, static_cast<uint64_t>(edge.kind));
    hash = mix(hash, std::bit_cast<uint64_t>(edge.bytes_per_s));
    hash = mix(hash, std::bit_cast<uint64_t>(edge.latency_s + 0.0));  // -0.0 is 0.0
  }
  return hash;
}

uint64_t hash_details(uint64_t hash,
                      std::span<const Vertex> vertices,
                      std::span<const Edge> edges) {
  const std::hash<std::string> of_text;
  for (const Vertex& vertex : vertices) {
    for (const std::string* text : {&vertex.name, &vertex.model, &vertex.bus_id}) {
      hash = mix(hash, of_text(*text));
    }
    hash = mix(hash, static_cast<uint64_t>(vertex.numa_node));
    hash = mix(hash, static_cast<uint64_t>(vertex.rail));
    hash = mix(hash, static_cast<uint64_t>(vertex.memory_bytes));
  }
  for (const Edge& edge : edges) {
    hash = mix(hash, static_cast<uint64_t>(edge.width));
    hash = mix(hash, static_cast<uint64_t>(edge.full_width));
    hash = mix(hash, edge.is_assumed ? 1 : 0);
  }
  return hash;
}

}  // namespace

Result<ServerShape> make_shape(ServerParts parts) {
  CD_TRY(check_vertices(parts.vertices));
  if (parts.edges.size() > kServerEdgesMax) {
    return make_error(kSimplifyCode,
                      "a server has {} edges; the most is {}",
                      parts.edges.size(),
                      kServerEdgesMax);
  }
  for (const Edge& edge : parts.edges) CD_TRY(check_edge(parts, edge));

  const std::vector<VertexIndex> index_of = order_vertices(parts.vertices);
  for (Edge& edge : parts.edges) {
    edge.from = index_of[edge.from];
    edge.to = index_of[edge.to];
    edge.latency_s += 0.0;
  }
  ServerShape shape;
  shape.vertices_ = std::move(parts.vertices);
  shape.edges_ = merge_edges(std::move(parts.edges));
  shape.first_edge_.assign(shape.vertices_.size() + 1, 0);
  for (const Edge& edge : shape.edges_) ++shape.first_edge_[edge.from + 1];
  std::partial_sum(shape.first_edge_.begin(), shape.first_edge_.end(), shape.first_edge_.begin());
  shape.structure_hash_ = hash_structure(shape.vertices_, shape.edges_);
  shape.identity_hash_ = hash_details(shape.structure_hash_, shape.vertices_, shape.edges_);
  return shape;
}

}  // namespace crossdock::topology
