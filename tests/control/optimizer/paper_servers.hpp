// Servers that the optimizer's tests plan for: the paper's, and random ones.
#pragma once

#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "topology/graph.hpp"

namespace crossdock::control {

// Figure 5a of the MGI paper: a CPU, two PCIe switches under it, two GPUs under each.
topology::ServerParts figure_5a();

// Figure 5b: two CPUs, joined; two PCIe switches under each; two GPUs under each switch, and all GPUs on an NVSwitch.
topology::ServerParts figure_5b();

// Figure 5b with two NICs under each PCIe switch, each with a direct edge to one of the switch's GPUs.
topology::ServerParts figure_5b_with_nics();

// Any server: 1 or 2 CPUs, 2 to 5 GPUs, a few switches and NICs, links at random, each device reachable somehow.
// Capacities are whole numbers of GB/s in both directions, so that sums are exact.
topology::ServerParts random_server(std::mt19937_64& random);

// A graph of `count` servers "node0", "node1", ... of one shape.
std::shared_ptr<const topology::InfrastructureGraph> servers_of(const topology::ServerParts& parts,
                                                                int count);
std::shared_ptr<const topology::InfrastructureGraph> servers_of(
    const std::vector<topology::ServerParts>& parts);

// Vertices by name: "gpu0" of the only server, "node1/gpu0" where there are several.
topology::Location at(const topology::InfrastructureGraph& graph, const std::string& name);
std::vector<topology::Location> gpus_of(const topology::InfrastructureGraph& graph);
std::string names_of(const topology::InfrastructureGraph& graph,
                     std::span<const topology::Location> vertices);

}  // namespace crossdock::control
