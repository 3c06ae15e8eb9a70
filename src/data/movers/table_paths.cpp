#include "data/movers/table_paths.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crossdock::movers {
namespace {

using Names = std::set<std::string_view>;

// The NICs here by which a path leaves the server: those before its network.
void add_nics(const topology::ServerShape& shape, const topology::HopPath& path, Names& nics) {
  for (const topology::PlacedVertex& vertex : path.between) {
    if (vertex.place != topology::Place::kHere) return;
    if (shape.kind(vertex.vertex) == topology::VertexKind::kNetwork) return;
    if (shape.kind(vertex.vertex) == topology::VertexKind::kNic)
      nics.insert(shape.vertex(vertex.vertex).name);
  }
}

// Rows may be relayed inside the server before they leave it, so the tables of all its vertices count.
Names nics_to(const PlannedTables& planned, const topology::DestinationKey& destination) {
  Names nics;
  for (const topology::ForwardingTable& table : planned.tables) {
    const topology::ForwardingTable::Entry* entry = table.find(destination);
    if (entry == nullptr) continue;
    for (const topology::NextHop& hop : entry->next_hops) {
      if (hop.next.place != topology::Place::kThere) continue;
      for (const topology::HopPath& path : hop.paths) add_nics(planned.shape, path, nics);
    }
  }
  return nics;
}

// Devices of links, with the names of their NICs.
using Devices = std::map<std::string, std::vector<std::string>>;

Devices devices_of(std::span<transports::Link* const> links, const NicNames& names_of) {
  Devices devices;
  for (const transports::Link* const link : links) {
    if (!devices.contains(link->device())) devices[link->device()] = names_of(link->device());
  }
  return devices;
}

Error has_no_link(transports::PeerIndex peer, const Names& nics, const Devices& devices) {
  std::vector<std::string> named;
  for (const auto& [device, names] : devices) named.push_back(device);
  return make_error(ErrorCode::kNoPath,
                    "rows for rank {} are planned over {}, and there is no link of that device to "
                    "it; links here are of {}\n"
                    "  try      devices=... with that device, or crossdock agent --file with a "
                    "graph in which the NIC is called as the device is here",
                    peer,
                    fmt::join(nics, " or "),
                    fmt::join(named, ", "));
}

}  // namespace

Result<std::map<transports::PeerIndex, std::vector<PathIndex>>> table_paths(
    const PlannedTables& planned,
    const std::map<transports::PeerIndex, topology::DestinationKey>& destinations,
    std::span<transports::Link* const> links,
    std::span<const PathTo> paths,
    const NicNames& names_of) {
  const Devices devices = devices_of(links, names_of);
  std::map<transports::PeerIndex, std::vector<PathIndex>> allowed;
  for (const auto& [peer, destination] : destinations) {
    const Names nics = nics_to(planned, destination);
    if (nics.empty()) {
      return make_error(ErrorCode::kNoPath,
                        "no forwarding table of this server leads to rank {}; plan the channel "
                        "with its endpoints",
                        peer);
    }
    const auto is_planned = [&](const std::string& device) {
      const auto is_named = [&](const std::string& name) { return nics.contains(name); };
      return device.empty() || std::ranges::any_of(devices.at(device), is_named);
    };
    std::vector<PathIndex>& usable = allowed[peer];
    for (size_t i = 0; i < paths.size(); ++i) {
      if (paths[i].peer != peer || !is_planned(links[paths[i].first]->device())) continue;
      usable.push_back(static_cast<PathIndex>(i));
    }
    if (usable.empty()) return has_no_link(peer, nics, devices);
  }
  return allowed;
}

}  // namespace crossdock::movers
