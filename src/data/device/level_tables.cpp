// One entry per source and destination, and one per relay and destination beside it.
#include "data/device/level_tables.hpp"

namespace crossdock {
namespace {

void add_hop(ForwardingTable& table, VertexIndex destination, VertexIndex next, int32_t hops_left) {
  HopPath path;
  path.hops_left = hops_left;
  table.add({DestinationKey::kOwnServer, destination}, {Place::kHere, next}, path);
}

}  // namespace

std::vector<ForwardingTable> level_tables(const LevelPlan& plan,
                                          const EndpointVertices& endpoints,
                                          int vertices) {
  std::vector<ForwardingTable> tables(static_cast<size_t>(vertices));
  const auto& at = endpoints.of_destination;
  for (size_t source = 0; source < endpoints.of_source.size(); ++source) {
    const VertexIndex from = endpoints.of_source[source];
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

std::vector<ForwardingTable> direct_tables(const EndpointVertices& endpoints, int vertices) {
  std::vector<ForwardingTable> tables(static_cast<size_t>(vertices));
  for (const VertexIndex from : endpoints.of_source) {
    for (const VertexIndex to : endpoints.of_destination) {
      if (to != from) add_hop(tables[from], to, to, 1);
    }
  }
  return tables;
}

}  // namespace crossdock
