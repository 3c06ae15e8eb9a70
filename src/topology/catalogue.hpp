// Machines that are known without standing on one: products, the setups that the MGI paper names, and clusters of them.
// Each entry says where its figures come from and what had to be assumed; crossdock topo prints both.
#pragma once

#include <span>
#include <string_view>

#include "topology/graph.hpp"

namespace crossdock::topology {

struct CatalogueEntry {
  std::string_view name;     // "dgx-a100"
  std::string_view summary;  // one line
  std::string_view source;   // public documents that the figures were taken from
  std::string_view assumed;  // what no document says; "" where nothing was assumed
  int servers;               // by default
  bool has_network;          // so that "name:n" is n such servers
};

// All entries, in the order in which they are listed to users.
std::span<const CatalogueEntry> catalogue();

// Null if there is no such entry. `name` without a count.
const CatalogueEntry* find_machine(std::string_view name);

// The graph of "dgx-a100", or of "dgx-a100:13" for 13 such servers on one network. Latencies are unknown, so 0.
// Error kInvalidTopology: a name that is not in the catalogue (with the nearest one); a count that is no number from 1
// to kServersMax; a count for a machine without a network.
Result<InfrastructureGraph> make_machine(std::string_view name);

}  // namespace crossdock::topology
