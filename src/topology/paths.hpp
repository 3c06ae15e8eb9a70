// Paths through the infrastructure graph and the forwarding tables made of them, as plain values: the optimizer makes
// them, agents and movers read them. Nothing here decides anything.
//
// A path stays inside one server's shape: between two of its vertices, or between one of them and the network. A way
// between servers is a path to the network and a path from it, which meet there (MGI, section 4.3). So the paths of a
// shape serve all servers that have it, and nothing grows with the square of the endpoints.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/graph.hpp"

namespace crossdock::topology {

// One path of a PathSet; valid as long as the set is not changed.
struct PathView {
  std::span<const VertexIndex> vertices;  // of one shape, both ends included
  double bytes_per_s = 0;  // of its narrowest edge: total bandwidth, not what is free now
  double latency_s = 0;    // sum over its edges
};

// Paths from one vertex to another in one shape, in the order in which they were found: shortest first.
class PathSet {
 public:
  int size() const { return static_cast<int>(ends_.size()); }
  bool empty() const { return ends_.empty(); }
  PathView operator[](int index) const;

  // Capacity and latency are read off the shape's edges. CD_CHECK: every step is an edge.
  void add(const ServerShape& shape, std::span<const VertexIndex> vertices);

  int64_t memory_bytes() const;
  bool operator==(const PathSet&) const = default;

 private:
  std::vector<VertexIndex> vertices_;  // of all paths, one after the other
  std::vector<uint32_t> ends_;         // per path: where it ends in vertices_
  std::vector<double> bytes_per_s_;
  std::vector<double> latency_s_;
};

// ---- forwarding tables (section 4.4) -----------------------------------------------------------------------------

// A vertex as a table names it: on the server that the table is for, or on the destination's server. So one table
// serves all servers of a structure, whichever server the destination is on.
enum class Place : uint8_t { kHere, kThere };

struct PlacedVertex {
  Place place = Place::kHere;
  VertexIndex vertex = 0;

  auto operator<=>(const PlacedVertex&) const = default;
};

// The unmanaged vertices between a managed vertex and its next hop, in order; empty where an edge joins the two.
// The network appears once, as kHere.
struct HopPath {
  std::vector<PlacedVertex> between;
  double bytes_per_s = 0;
  double latency_s = 0;
  // Managed vertices from the next hop to the destination, both included, on the shortest way that begins like this.
  // Rows set out with the hops of their longest way. Those that may make n more take any path with hops_left <= n, and
  // may make n - 1 after it: every way can be taken, from every vertex one leads on, and no row goes round for ever.
  int32_t hops_left = 1;

  bool operator==(const HopPath&) const = default;
};

struct NextHop {
  PlacedVertex next;  // managed
  std::vector<HopPath> paths;

  bool operator==(const NextHop&) const = default;
};

// Of which destination an entry speaks: a vertex of the table's own server, or that vertex on every *other* server of a
// structure (InfrastructureGraph::structure_of).
struct DestinationKey {
  static constexpr ShapeIndex kOwnServer = UINT32_MAX;

  ShapeIndex structure = kOwnServer;
  VertexIndex vertex = 0;

  auto operator<=>(const DestinationKey&) const = default;
};

// (destination, {(next hop, {path})}) entries of one managed vertex, merged by destination and then by next hop.
class ForwardingTable {
 public:
  struct Entry {
    DestinationKey destination;
    std::vector<NextHop> next_hops;  // by ascending `next`

    bool operator==(const Entry&) const = default;
  };

  // Merges a path into the table; one that is there already stays single, with the fewer hops left. O(log entries) to
  // find its place.
  void add(DestinationKey destination, PlacedVertex next, HopPath path);

  // Null where the table has no entry, as for the vertex that it belongs to.
  const Entry* find(DestinationKey destination) const;
  // The entry for a destination anywhere, seen from `server`.
  const Entry* find(const InfrastructureGraph& graph,
                    ServerIndex server,
                    Location destination) const;

  std::span<const Entry> entries() const { return entries_; }  // by ascending destination
  bool empty() const { return entries_.empty(); }
  int64_t memory_bytes() const;
  bool operator==(const ForwardingTable&) const = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace crossdock::topology
