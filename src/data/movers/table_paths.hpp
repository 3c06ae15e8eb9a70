// From a plan to paths: which of a mover's paths the forwarding tables of its server allow (MGI, section 4.4).
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/movers/mover.hpp"
#include "data/transports/link.hpp"
#include "topology/graph.hpp"
#include "topology/paths.hpp"

namespace crossdock::movers {

// What tables of a server say of NICs: by which rows may leave it (`shape`) for a destination.
struct PlannedTables {
  const topology::ServerShape& shape;
  std::span<const topology::ForwardingTable> tables;
};

// The names that a NIC of this host may have in the graph, if rows go over a device of this name.
using NicNames = std::function<std::vector<std::string>(const std::string& device)>;

// Of each peer in `destinations`, which says how tables name it: the places in `paths` that it may be reached by, as
// MovedFlow::paths has them. A path may be used if it begins with a link whose device uses one of the planned NICs;
// which NIC rows come in by on the other side is the transport's pairing. A link without a name of its device is as
// good as any. CD-602 with peer and NICs: a peer to which no table leads, or whose planned NICs have no link.
Result<std::map<transports::PeerIndex, std::vector<PathIndex>>> table_paths(
    const PlannedTables& planned,
    const std::map<transports::PeerIndex, topology::DestinationKey>& destinations,
    std::span<transports::Link* const> links,
    std::span<const PathTo> paths,
    const NicNames& names_of);

}  // namespace crossdock::movers
