// The infrastructure graph: which devices there are, which links join them, and how much each link carries.
//
// Follows the GPU infrastructure graph of MGI (Wu et al., PVLDB 19(9), 2026, sections 4.1 and 4.2). Vertices are
// devices; directed edges are links with a capacity. A server's own graph is a ServerShape: immutable, normalised, and
// shared by all servers that look alike, so that 2,048 servers of one product are one shape and 2,048 names. The
// network is a vertex of every shape that has one; the InfrastructureGraph takes these for one and the same vertex.
//
// Goes beyond the paper in three places: drives are vertices, edges have a latency, and shapes are shared.
// Values without hidden state: const access from any number of threads is safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"

namespace crossdock::topology {

// In the order in which the vertices of a shape stand.
enum class VertexKind : uint8_t {
  kCpu,         // a NUMA node: its cores and its memory
  kGpu,         // a GPU that was declared for use
  kNic,         // a port to the network
  kPcieSwitch,  // a PCIe switch, or the root complex of a CPU where it is distinguished
  kNvswitch,    // all NVSwitches of a server
  kDrive,       // an NVMe drive
  kNetwork,     // everything between the NICs of all servers
};
inline constexpr int kVertexKinds = 7;

enum class LinkKind : uint8_t {
  kPcie,       // PCIe lanes
  kNvlink,     // NVLink between GPUs, to an NVSwitch, or to a CPU that has it
  kC2c,        // NVLink-C2C: CPU and GPU of one superchip
  kSocket,     // between NUMA nodes: UPI, QPI, Infinity Fabric, X-Bus ("XPI" in the paper)
  kNicDirect,  // a NIC reads and writes the memory of a GPU
  kNetwork,    // NIC and network
};
inline constexpr int kLinkKinds = 6;

// "gpu", "pcie_switch"; "nvlink", "nic_direct". The spelling of files and of --json.
std::string_view kind_name(VertexKind kind);
std::string_view kind_name(LinkKind kind);
std::optional<VertexKind> vertex_kind_of(std::string_view name);
std::optional<LinkKind> link_kind_of(std::string_view name);

// Managed vertices have buffers and workers of ours: data can stop there and go on.
constexpr bool is_managed(VertexKind kind) {
  return kind == VertexKind::kCpu || kind == VertexKind::kGpu;
}

using VertexIndex = uint16_t;  // of a vertex in its server's shape
using ServerIndex = uint32_t;
using ShapeIndex = uint32_t;
// Of a vertex in the whole graph: servers in order, the network last.
using GlobalVertex = uint32_t;

// What descriptions may not exceed; errors name the limit.
inline constexpr int kServerVerticesMax = 4096;
inline constexpr int kServerEdgesMax = 65536;
inline constexpr int kServersMax = 65536;
inline constexpr int kNameBytesMax = 128;

struct Vertex {
  VertexKind kind = VertexKind::kCpu;
  std::string name;        // unique on its server: "gpu0"
  std::string model;       // "NVIDIA A100-SXM4-80GB"; "" where unknown
  std::string bus_id;      // PCI address, "0000:07:00.0"; "" where unknown
  int32_t numa_node = -1;  // that the device is attached to; -1 where unknown
  int32_t rail = -1;       // of a NIC: which of the network's rails it is plugged into; -1 for none
  int64_t memory_bytes = 0;  // of a CPU, GPU or drive; 0 where unknown

  bool operator==(const Vertex&) const = default;
};

struct Edge {
  VertexIndex from = 0;
  VertexIndex to = 0;
  LinkKind kind = LinkKind::kPcie;
  int32_t width = 0;        // PCIe lanes or parallel NVLinks in use; 0 where unknown
  int32_t full_width = 0;   // what both ends could use; 0 where unknown
  double bytes_per_s = 0;   // in this direction
  double latency_s = 0;     // 0 where unknown
  bool is_assumed = false;  // the capacity was assumed, since no probe or document gives it

  bool operator==(const Edge&) const = default;
};

// A range of vertices of one kind; kinds stand side by side in a shape.
struct VertexRange {
  VertexIndex first = 0;
  VertexIndex count = 0;
};

struct ServerParts;

// A server's graph after simplification. Vertices are ordered by kind, then by name ("gpu2" before "gpu10"); edges by
// (from, to), at most one per pair; the network, if any, is the last vertex.
class ServerShape {
 public:
  int vertex_count() const { return static_cast<int>(vertices_.size()); }
  std::span<const Vertex> vertices() const { return vertices_; }
  const Vertex& vertex(VertexIndex index) const { return vertices_[index]; }
  VertexKind kind(VertexIndex index) const { return vertices_[index].kind; }
  VertexRange of_kind(VertexKind kind) const;

  std::span<const Edge> edges() const { return edges_; }
  // Edges that leave `from`, by ascending `to`. Their place in edges() is out_begin(from) + i.
  std::span<const Edge> out_edges(VertexIndex from) const {
    return std::span(edges_).subspan(first_edge_[from], first_edge_[from + 1] - first_edge_[from]);
  }
  uint32_t out_begin(VertexIndex from) const { return first_edge_[from]; }
  const Edge* find_edge(VertexIndex from, VertexIndex to) const;  // null if there is none

  std::optional<VertexIndex> find_vertex(std::string_view name) const;
  std::optional<VertexIndex> network() const;

  // Of kinds and edges alone: equal for servers that paths cannot tell apart, whatever their names and addresses.
  uint64_t structure_hash() const { return structure_hash_; }
  // Of everything: equal for shapes that are equal.
  uint64_t identity_hash() const { return identity_hash_; }
  bool operator==(const ServerShape&) const = default;
  int64_t memory_bytes() const;

 private:
  friend Result<ServerShape> make_shape(ServerParts parts);
  ServerShape() = default;

  uint64_t identity_hash_ = 0;  // first, so that different shapes are found to differ at once
  uint64_t structure_hash_ = 0;
  std::vector<Vertex> vertices_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> first_edge_;  // per vertex and one more
};

// True if paths in one are paths in the other, vertex by vertex.
bool same_structure(const ServerShape& a, const ServerShape& b);

// Collects what a server is made of, in any order and as fine-grained as it was found; make_shape simplifies it.
struct ServerParts {
  std::vector<Vertex> vertices;
  std::vector<Edge> edges;

  VertexIndex add(Vertex vertex);
  VertexIndex add(VertexKind kind, std::string name);
  // Adds `link` in both directions; its `from` and `to` are set here.
  void connect(VertexIndex a, VertexIndex b, Edge link);
};

// Applies the rules of simplification (section 4.2): all NVSwitches become one vertex "nvswitch", links with the same
// ends one edge with the summed capacity and width and the smallest latency, of the kind of the widest among them; NICs
// stay apart. Then orders and validates. Error kInvalidTopology: no managed vertex; a name that is empty, too long or
// taken; more than one network; an edge that ends nowhere, at its own start, or at a vertex its kind cannot join; a
// capacity that is not a positive number; a latency that is negative; too many vertices or edges.
Result<ServerShape> make_shape(ServerParts parts);

// A vertex of the whole graph by its server.
struct Location {
  ServerIndex server = 0;
  VertexIndex vertex = 0;

  auto operator<=>(const Location&) const = default;
};

// Servers and the network that joins them. Memory is linear in the servers: a name and three numbers each.
class InfrastructureGraph {
 public:
  // A shape equal to one that is here already is shared. Error kInvalidTopology: a name that is empty, too long or
  // taken; a second server where one of them has no link to the network; more than kServersMax servers.
  Result<ServerIndex> add_server(std::string name, std::shared_ptr<const ServerShape> shape);

  int server_count() const { return static_cast<int>(shape_of_.size()); }
  const std::string& server_name(ServerIndex server) const { return names_[server]; }
  std::optional<ServerIndex> find_server(std::string_view name) const;

  int shape_count() const { return static_cast<int>(shapes_.size()); }
  ShapeIndex shape_index(ServerIndex server) const { return shape_of_[server]; }
  const ServerShape& shape(ServerIndex server) const { return *shapes_[shape_of_[server]]; }
  const std::shared_ptr<const ServerShape>& shape_at(ShapeIndex index) const {
    return shapes_[index];
  }
  // The first shape with the same structure: what results are shared by.
  ShapeIndex structure_of(ServerIndex server) const { return structure_of_[shape_of_[server]]; }

  // Vertices of all servers, their network vertices counted as one.
  uint32_t vertex_count() const;
  uint32_t count_of(VertexKind kind) const;
  bool has_network() const { return networks_ > 0; }
  GlobalVertex network() const { return first_vertex_.back(); }  // valid if has_network()
  GlobalVertex global(Location location) const;
  // "node3/gpu5"; "gpu5" where there is only one server; "network".
  std::string full_name(Location location) const;
  // The reverse of full_name. Error kInvalidTopology, with the nearest name.
  Result<Location> find(std::string_view full_name) const;
  int64_t memory_bytes() const;

 private:
  ShapeIndex intern(std::shared_ptr<const ServerShape> shape);

  std::vector<std::shared_ptr<const ServerShape>> shapes_;
  std::vector<ShapeIndex> structure_of_;          // per shape
  std::vector<std::string> names_;                // per server
  std::vector<ShapeIndex> shape_of_;              // per server
  std::vector<GlobalVertex> first_vertex_ = {0};  // per server and one more
  std::unordered_map<std::string, ServerIndex> server_of_name_;
  std::unordered_map<uint64_t, ShapeIndex> shape_of_identity_;   // by hash; equality is checked
  std::unordered_map<uint64_t, ShapeIndex> shape_of_structure_;  // the first; likewise
  uint32_t networks_ = 0;                                        // servers with a network vertex
};

}  // namespace crossdock::topology
