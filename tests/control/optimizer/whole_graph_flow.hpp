// Boost's maximum flow on a whole infrastructure graph, with a source before all sources and a sink behind all sinks:
// what the optimizer, which looks at one server at a time, is measured against.
#pragma once

#include <functional>
#include <span>

#include "topology/graph.hpp"

namespace crossdock {

// Says which edges count; the two ends of an edge are on one server, or one is its network vertex.
using EdgeFilter = std::function<bool(ServerIndex server, const Edge& edge)>;

// Bytes per second from all `sources` together to all `sinks` together, which must be different vertices. NICs lead out
// of their server or into it, as they do for the optimizer.
double whole_graph_flow(const InfrastructureGraph& graph,
                        std::span<const Location> sources,
                        std::span<const Location> sinks,
                        const EdgeFilter& counts);

}  // namespace crossdock
