// Boost's maximum flow on a whole infrastructure graph, with a source before all sources and a sink behind all sinks:
// what the optimizer, which looks at one server at a time, is measured against.
#pragma once

#include <functional>
#include <span>

#include "topology/graph.hpp"

namespace crossdock::control {

// Says which edges count; the two ends of an edge are on one server, or one is its network vertex.
using EdgeFilter = std::function<bool(topology::ServerIndex server, const topology::Edge& edge)>;

// Bytes per second from all `sources` together to all `sinks` together, which must be different vertices. NICs lead out
// of their server or into it, as they do for the optimizer.
double whole_graph_flow(const topology::InfrastructureGraph& graph,
                        std::span<const topology::Location> sources,
                        std::span<const topology::Location> sinks,
                        const EdgeFilter& counts);

}  // namespace crossdock::control
