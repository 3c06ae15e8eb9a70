// From a plan to paths: which of a process's links its forwarding tables allow to each peer (MGI, section 4.4).
#pragma once

#include <span>
#include <vector>

#include "base/result.hpp"
#include "data/movers/mover.hpp"
#include "data/transports/link.hpp"
#include "topology/graph.hpp"
#include "topology/paths.hpp"

namespace crossdock {

// A peer, and how tables here name the destinations that it has.
struct PeerDestinations {
  PeerIndex peer = 0;
  std::vector<DestinationKey> destinations;
};

// Tables say through which NICs of this server (`own`) rows may leave it for a destination; a link may be used if its
// device is one of them. Which NIC they come in by on the other side is the transport's pairing. A link without a name
// of its device is as good as any. Paths are in the order of `links`, whose places they name. CD-602 with peer and
// NICs: a peer to which no table leads, or whose planned NICs have no link.
Result<std::vector<PathTo>> table_paths(const ServerShape& own,
                                        std::span<const ForwardingTable> tables,
                                        std::span<const PeerDestinations> peers,
                                        std::span<Link* const> links);

}  // namespace crossdock
