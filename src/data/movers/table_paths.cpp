// Paths from the NICs that tables name.
#include "data/movers/table_paths.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crossdock {
namespace {

using Names = std::set<std::string_view>;

// The NICs here by which a path leaves the server: those before its network.
void add_nics(const ServerShape& own, const HopPath& path, Names& nics) {
  for (const PlacedVertex& vertex : path.between) {
    if (vertex.place != Place::kHere) return;
    if (own.kind(vertex.vertex) == VertexKind::kNetwork) return;
    if (own.kind(vertex.vertex) == VertexKind::kNic) nics.insert(own.vertex(vertex.vertex).name);
  }
}

// Rows may be relayed inside the server before they leave it, so the tables of all its vertices count.
Names nics_to(const ServerShape& own,
              std::span<const ForwardingTable> tables,
              const PeerDestinations& peer) {
  Names nics;
  for (const ForwardingTable& table : tables) {
    for (const DestinationKey& key : peer.destinations) {
      const ForwardingTable::Entry* entry = table.find(key);
      if (entry == nullptr) continue;
      for (const NextHop& hop : entry->next_hops) {
        if (hop.next.place != Place::kThere) continue;
        for (const HopPath& path : hop.paths) add_nics(own, path, nics);
      }
    }
  }
  return nics;
}

}  // namespace

Result<std::vector<PathTo>> table_paths(const ServerShape& own,
                                        std::span<const ForwardingTable> tables,
                                        std::span<const PeerDestinations> peers,
                                        std::span<Link* const> links) {
  std::vector<PathTo> paths;
  for (const PeerDestinations& peer : peers) {
    const Names nics = nics_to(own, tables, peer);
    if (nics.empty()) {
      return make_error(
          ErrorCode::kNoPath,
          "no forwarding table of this server leads to rank {}; plan the channel with "
          "its endpoints",
          peer.peer);
    }
    const size_t before = paths.size();
    for (size_t i = 0; i < links.size(); ++i) {
      if (links[i]->peer() != peer.peer) continue;
      const std::string device = links[i]->device();
      if (!device.empty() && !nics.contains(device)) continue;
      paths.push_back({.peer = peer.peer, .first = static_cast<LinkIndex>(i)});
    }
    if (paths.size() == before) {
      return make_error(ErrorCode::kNoPath,
                        "rows for rank {} are planned over {}, and there is no link of that device "
                        "to it; allow the device, or plan again without it",
                        peer.peer,
                        fmt::join(nics, " or "));
    }
  }
  return paths;
}

}  // namespace crossdock
