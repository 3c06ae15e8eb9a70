// Two levels as forwarding tables: a source's rows for another server go to the endpoint of its rail there, which hands
// them on (LevelPlan). So nothing that forwards needs to know of levels.
#pragma once

#include <vector>

#include "data/channels/levels.hpp"
#include "topology/paths.hpp"

namespace crossdock::device {

// The vertex of each endpoint, in the order of sources and of destinations.
struct EndpointVertices {
  std::vector<topology::VertexIndex> of_source;
  std::vector<topology::VertexIndex> of_destination;
};

// A table for each vertex below `vertices`; empty where nothing leaves.
std::vector<topology::ForwardingTable> level_tables(const channels::LevelPlan& plan,
                                                    const EndpointVertices& endpoints,
                                                    int vertices);

// The same for one level: every source has an edge to every destination.
std::vector<topology::ForwardingTable> direct_tables(const EndpointVertices& endpoints,
                                                     int vertices);

}  // namespace crossdock::device
