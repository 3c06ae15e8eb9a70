// One entry per source and destination, and one per relay and destination beside it.
#include "data/device/level_tables.hpp"

namespace crossdock::device {
namespace {

void add_hop(topology::ForwardingTable& table,
             topology::VertexIndex destination,
             topology::VertexIndex next,
             int32_t hops_left) {
  topology::HopPath path;
  path.hops_left = hops_left;
  table.add(
      {topology::DestinationKey::kOwnServer, destination}, {topology::Place::kHere, next}, path);
}

}  // namespace

std::vector<topology::ForwardingTable> level_tables(const channels::LevelPlan& plan,
                                                    const EndpointVertices& endpoints,
                                                    int vertices) {
  std::vector<topology::ForwardingTable> tables(static_cast<size_t>(vertices));
  const auto& at = endpoints.of_destination;
  for (size_t source = 0; source < endpoints.of_source.size(); ++source) {
    const topology::VertexIndex from = endpoints.of_source[source];
    for (size_t to = 0; to < at.size(); ++to) {
      if (at[to] == from) continue;
      const uint16_t relay = plan.relay(static_cast<int>(source), static_cast<int>(to));
      const bool is_direct = relay == to || at[relay] == from;
      add_hop(tables[from], at[to], is_direct ? at[to] : at[relay], is_direct ? 1 : 2);
      if (!is_direct) add_hop(tables[at[relay]], at[to], at[to], 1);
    }
  }
  return tables;
}

std::vector<topology::ForwardingTable> direct_tables(const EndpointVertices& endpoints,
                                                     int vertices) {
  std::vector<topology::ForwardingTable> tables(static_cast<size_t>(vertices));
  for (const topology::VertexIndex from : endpoints.of_source) {
    for (const topology::VertexIndex to : endpoints.of_destination) {
      if (to != from) add_hop(tables[from], to, to, 1);
    }
  }
  return tables;
}

}  // namespace crossdock::device
