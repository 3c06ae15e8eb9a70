// Small servers that tests of graphs and paths build on.
#pragma once

#include <random>
#include <string>

#include "topology/graph.hpp"

namespace crossdock::topology {

Edge pcie(double bytes_per_s);
Edge nvlink(double bytes_per_s, int links);
Edge link_of(LinkKind kind, double bytes_per_s);

// One server of Figure 5c of the MGI paper: cpu0 and cpu1 joined; each with a PCIe switch, to which a GPU and a NIC are
// attached; each NIC with a direct edge to its GPU; both NICs on the network. In the order of a shape: cpu0 cpu1 gpu0
// gpu1 nic0 nic1 pcie0 pcie1 network.
ServerParts two_socket_parts();
ServerShape two_sockets();

// The shape; a failed expectation where the parts are refused.
ServerShape shape_of(ServerParts parts);
void add(InfrastructureGraph& graph, std::string name, ServerShape shape);

// The same server with vertices and edges in another order.
ServerParts shuffled(ServerParts parts, std::mt19937_64& random);

}  // namespace crossdock::topology
