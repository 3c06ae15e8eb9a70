#include "topology/paths.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"

namespace crossdock::topology {

PathView PathSet::operator[](int index) const {
  const auto i = static_cast<size_t>(index);
  const uint32_t begin = i == 0 ? 0 : ends_[i - 1];
  return {std::span(vertices_).subspan(begin, ends_[i] - begin), bytes_per_s_[i], latency_s_[i]};
}

void PathSet::add(const ServerShape& shape, std::span<const VertexIndex> vertices) {
  CD_CHECK(vertices.size() >= 2, "vertices {}", vertices.size());
  double bytes_per_s = std::numeric_limits<double>::infinity();
  double latency_s = 0;
  for (size_t i = 1; i < vertices.size(); ++i) {
    const Edge* edge = shape.find_edge(vertices[i - 1], vertices[i]);
    CD_CHECK(edge != nullptr, "step {} from {} to {}", i, vertices[i - 1], vertices[i]);
    bytes_per_s = std::min(bytes_per_s, edge->bytes_per_s);
    latency_s += edge->latency_s;
  }
  vertices_.insert(vertices_.end(), vertices.begin(), vertices.end());
  ends_.push_back(static_cast<uint32_t>(vertices_.size()));
  bytes_per_s_.push_back(bytes_per_s);
  latency_s_.push_back(latency_s);
}

int64_t PathSet::memory_bytes() const {
  return static_cast<int64_t>(sizeof(*this) + vertices_.capacity() * sizeof(VertexIndex) +
                              ends_.capacity() * sizeof(uint32_t) +
                              (bytes_per_s_.capacity() + latency_s_.capacity()) * sizeof(double));
}

// ---- forwarding tables ---------------------------------------------------------------------------------------------

void ForwardingTable::add(DestinationKey destination, PlacedVertex next, HopPath path) {
  const auto entry = std::lower_bound(
      entries_.begin(), entries_.end(), destination, [](const Entry& e, const DestinationKey& key) {
        return e.destination < key;
      });
  const bool is_known = entry != entries_.end() && entry->destination == destination;
  std::vector<NextHop>& hops =
      is_known ? entry->next_hops : entries_.insert(entry, Entry{destination, {}})->next_hops;
  const auto hop = std::lower_bound(
      hops.begin(), hops.end(), next, [](const NextHop& h, const PlacedVertex& vertex) {
        return h.next < vertex;
      });
  const bool is_known_hop = hop != hops.end() && hop->next == next;
  std::vector<HopPath>& paths = is_known_hop ? hop->paths : hops.insert(hop, {next, {}})->paths;
  const auto known = std::ranges::find(paths, path.between, &HopPath::between);
  if (known == paths.end()) {
    paths.push_back(std::move(path));
  } else {
    known->hops_left = std::min(known->hops_left, path.hops_left);
  }
}

const ForwardingTable::Entry* ForwardingTable::find(DestinationKey destination) const {
  const auto entry = std::lower_bound(
      entries_.begin(), entries_.end(), destination, [](const Entry& e, const DestinationKey& key) {
        return e.destination < key;
      });
  return entry != entries_.end() && entry->destination == destination ? &*entry : nullptr;
}

const ForwardingTable::Entry* ForwardingTable::find(const InfrastructureGraph& graph,
                                                    ServerIndex server,
                                                    Location destination) const {
  const bool is_own = destination.server == server;
  return find({is_own ? DestinationKey::kOwnServer : graph.structure_of(destination.server),
               destination.vertex});
}

int64_t ForwardingTable::memory_bytes() const {
  auto bytes = static_cast<int64_t>(sizeof(*this) + entries_.capacity() * sizeof(Entry));
  for (const Entry& entry : entries_) {
    bytes += static_cast<int64_t>(entry.next_hops.capacity() * sizeof(NextHop));
    for (const NextHop& hop : entry.next_hops) {
      bytes += static_cast<int64_t>(hop.paths.capacity() * sizeof(HopPath));
      for (const HopPath& path : hop.paths) {
        bytes += static_cast<int64_t>(path.between.capacity() * sizeof(PlacedVertex));
      }
    }
  }
  return bytes;
}

}  // namespace crossdock::topology
