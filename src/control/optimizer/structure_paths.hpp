// The paths of one structure, found when they are first asked for and kept: between two vertices of a server, and
// between a vertex and the network (MGI, Figure 6). Capacities are total bandwidth, so nothing here depends on a
// channel or on what runs, and every server of the structure uses the same paths.
//
// Memory: at most one set of paths per ordered pair of managed vertices, and two per managed vertex.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "control/optimizer/flow.hpp"
#include "topology/graph.hpp"
#include "topology/paths.hpp"

namespace crossdock::control {

// Paths of one section between two ends, and what a maximum flow between these two alone puts on each.
struct SectionPaths {
  topology::PathSet paths;
  // Per path; 0 for one that is there because a flow between more ends than these needs it.
  std::vector<double> flow_bytes_per_s;

  void add(const topology::ServerShape& shape, const FlowPath& path, double flow);
  bool has(std::span<const topology::VertexIndex> vertices) const;
  int64_t memory_bytes() const;
};

using SectionPathsPtr = std::shared_ptr<const SectionPaths>;

// Not thread-safe; what it hands out is immutable and may be shared.
class StructurePaths {
 public:
  StructurePaths(std::shared_ptr<const topology::ServerShape> shape, int relays_max);

  const std::shared_ptr<const topology::ServerShape>& shape() const { return shape_; }

  // Empty sets where there is no path with so few relays.
  SectionPathsPtr inside(topology::VertexIndex from, topology::VertexIndex to);
  SectionPathsPtr to_network(topology::VertexIndex from);
  SectionPathsPtr from_network(topology::VertexIndex to);

  // The paths of a maximum flow from all of `from` to all of `to`; the network stands for itself.
  std::vector<FlowPath> joint(Section section,
                              std::span<const topology::VertexIndex> from,
                              std::span<const topology::VertexIndex> to);

  int64_t memory_bytes() const;

 private:
  SectionPathsPtr find(Section section, topology::VertexIndex from, topology::VertexIndex to);
  FlowSolver& solver(Section section);

  std::shared_ptr<const topology::ServerShape> shape_;
  int relays_max_;
  std::array<std::optional<FlowSolver>, kSections> solvers_;
  std::unordered_map<uint32_t, SectionPathsPtr> paths_of_;  // by (from, to)
};

}  // namespace crossdock::control
