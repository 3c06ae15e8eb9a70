// Follows the rows of every source to every destination, and numbers what they pass.
#include "data/device/wiring.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace crossdock::device {
namespace {

constexpr uint32_t kHopsOfInputs = kDeviceHopsMax + 1;

// Of a node and a hop, where rows for a destination go: links, or its own final rings.
using RouteKey = std::tuple<topology::VertexIndex, uint32_t, uint16_t>;

class Wirer {
 public:
  explicit Wirer(const DeviceChannelSpec& spec) : spec_(spec) {}

  Result<DeviceWiring> wire() {
    const auto& endpoints = spec_.endpoints;
    for (const topology::VertexIndex from : endpoints.of_source) {
      if (spec_.rule == DeviceRule::kBroadcast) {
        CD_TRY(spread_from(from));
        continue;
      }
      for (size_t to = 0; to < endpoints.of_destination.size(); ++to)
        CD_TRY(follow(from, 0, static_cast<uint16_t>(to)));
    }
    return number();
  }

 private:
  topology::VertexIndex vertex_of(uint16_t destination) const {
    return spec_.endpoints.of_destination[destination];
  }

  // Next vertices by the table from where the row may still pass hops_left links.
  std::vector<topology::VertexIndex> next_of(topology::VertexIndex at,
                                             uint16_t to,
                                             uint32_t hops_left) const {
    std::vector<topology::VertexIndex> next;
    const auto* entry =
        spec_.tables[at].find({topology::DestinationKey::kOwnServer, vertex_of(to)});
    if (entry == nullptr) return next;
    for (const topology::NextHop& hop : entry->next_hops) {
      const bool is_near =
          std::ranges::any_of(hop.paths, [hops_left](const topology::HopPath& path) {
            return path.hops_left <= static_cast<int32_t>(hops_left);
          });
      if (is_near && hop.next.place == topology::Place::kHere) next.push_back(hop.next.vertex);
    }
    return next;
  }

  Status follow(topology::VertexIndex at, uint32_t hop, uint16_t to) {
    auto [route, is_new] = routes_.try_emplace({at, hop, to});
    if (!is_new || at == vertex_of(to)) return {};
    const auto next = next_of(at, to, kDeviceHopsMax - hop);
    if (next.empty()) {
      return make_error(ErrorCode::kNoPath,
                        "no table leads from vertex {} to destination {} (vertex {}) within {} "
                        "links; a channel on devices passes rows on at most once",
                        at,
                        to,
                        vertex_of(to),
                        kDeviceHopsMax - hop);
    }
    for (const topology::VertexIndex vertex : next) {
      route->second.insert(link(at, vertex, hop + 1));
      CD_TRY(follow(vertex, hop + 1, to));
    }
    return {};
  }

  // What is for all goes straight to the node that hands it on, which a table must allow.
  Status spread_from(topology::VertexIndex from) {
    std::set<uint16_t> relays;
    std::set<uint16_t> near;
    for (size_t to = 0; to < spec_.endpoints.of_destination.size(); ++to) {
      const auto destination = static_cast<uint16_t>(to);
      if (!spec_.levels) {
        near.insert(destination);
        continue;
      }
      const int source = static_cast<int>(std::ranges::find(spec_.endpoints.of_source, from) -
                                          spec_.endpoints.of_source.begin());
      const uint16_t relay = spec_.levels->relay(source, static_cast<int>(to));
      if (vertex_of(relay) == from)
        near.insert(destination);
      else
        relays.insert(relay);
    }
    for (const uint16_t to : near) {
      CD_TRY(copy_to(from, 0, to, kDeviceHopsMax));
      if (vertex_of(to) != from) spreads_[{vertex_of(to), kDeviceHopsMax}].insert(to);
    }
    for (const uint16_t relay : relays) {
      CD_TRY(copy_to(from, 0, relay, 1));
      for (const uint16_t to : spec_.levels->beside(relay)) {
        CD_TRY(copy_to(vertex_of(relay), 1, to, kDeviceHopsMax));
        if (to != relay) spreads_[{vertex_of(to), kDeviceHopsMax}].insert(to);
      }
    }
    return {};
  }

  Status copy_to(topology::VertexIndex at, uint32_t hop, uint16_t to, uint32_t arrives_with_hop) {
    spreads_[{at, hop}].insert(to);
    auto& route = routes_[{at, hop, to}];
    const topology::VertexIndex vertex = vertex_of(to);
    if (at == vertex) return {};
    routes_.try_emplace({vertex, arrives_with_hop, to});
    const auto next = next_of(at, to, 1);
    if (std::ranges::find(next, vertex) == next.end()) {
      return make_error(ErrorCode::kNoPath,
                        "rows for all go from vertex {} to vertex {} over one link, and no table "
                        "has it",
                        at,
                        vertex);
    }
    route.insert(link(at, vertex, arrives_with_hop));
    return {};
  }

  uint32_t link(topology::VertexIndex from, topology::VertexIndex to, uint32_t hop) {
    const WiredLink link{from, to, hop};
    const auto [at, is_new] =
        link_numbers_.try_emplace(link, static_cast<uint32_t>(wiring_.links.size()));
    if (is_new) wiring_.links.push_back(link);
    return at->second;
  }

  WiredNode make_node(topology::VertexIndex vertex) const {
    WiredNode node;
    node.vertex = vertex;
    node.is_host = spec_.is_host[vertex] != 0;
    const auto place_of = [vertex](const std::vector<topology::VertexIndex>& list) {
      const auto at = std::ranges::find(list, vertex);
      return at == list.end() ? -1 : static_cast<int>(at - list.begin());
    };
    node.source = place_of(spec_.endpoints.of_source);
    node.destination = place_of(spec_.endpoints.of_destination);
    for (uint32_t at = 0; at < wiring_.links.size(); ++at) {
      if (wiring_.links[at].from == vertex) node.links_out.push_back(at);
      if (wiring_.links[at].to == vertex) node.links_in.push_back(at);
    }
    node.routes.resize(kHopsOfInputs * spec_.endpoints.of_destination.size());
    node.spreads.resize(kHopsOfInputs);
    return node;
  }

  // The targets of a route, after `blocks` final rings where the node is a destination.
  void add_choices(WiredNode& node, const std::set<uint32_t>& links, bool is_here) const {
    const uint32_t finals = node.destination >= 0 ? spec_.blocks : 0;
    for (uint32_t block = 0; is_here && block < finals; ++block)
      node.choices.push_back(static_cast<uint16_t>(block));
    for (const uint32_t link : links) {
      const auto place =
          static_cast<uint32_t>(std::ranges::find(node.links_out, link) - node.links_out.begin());
      for (uint32_t ring = 0; ring < spec_.rings_per_link; ++ring) {
        node.choices.push_back(static_cast<uint16_t>(finals + place * spec_.rings_per_link + ring));
      }
    }
  }

  Result<DeviceWiring> number() {
    std::set<topology::VertexIndex> vertices;
    for (const auto& [key, links] : routes_) vertices.insert(std::get<0>(key));
    for (const topology::VertexIndex vertex : spec_.endpoints.of_destination)
      vertices.insert(vertex);
    const auto destinations = static_cast<uint32_t>(spec_.endpoints.of_destination.size());
    for (const topology::VertexIndex vertex : vertices) {
      WiredNode node = make_node(vertex);
      for (const auto& [key, links] : routes_) {
        const auto [at, hop, to] = key;
        if (at != vertex) continue;
        const size_t first = node.choices.size();
        add_choices(node, links, vertex_of(to) == vertex);
        node.routes[hop * destinations + to] = {static_cast<uint16_t>(first),
                                                static_cast<uint16_t>(node.choices.size() - first)};
      }
      for (uint32_t hop = 0; hop < kHopsOfInputs; ++hop) {
        const auto entry = spreads_.find({vertex, hop});
        if (entry == spreads_.end()) continue;
        node.spreads[hop] = {static_cast<uint16_t>(node.spread_to.size()),
                             static_cast<uint16_t>(entry->second.size())};
        node.spread_to.insert(node.spread_to.end(), entry->second.begin(), entry->second.end());
      }
      if (node.choices.size() > UINT16_MAX) {
        return make_error(ErrorCode::kInvalidArgument,
                          "vertex {} would have {} choices of rings, and a sorter counts up to {}; "
                          "ask for fewer blocks or rings per link",
                          vertex,
                          node.choices.size(),
                          UINT16_MAX);
      }
      wiring_.nodes.push_back(std::move(node));
    }
    return std::move(wiring_);
  }

  const DeviceChannelSpec& spec_;
  DeviceWiring wiring_;
  std::map<WiredLink, uint32_t> link_numbers_;
  std::map<RouteKey, std::set<uint32_t>> routes_;
  std::map<std::pair<topology::VertexIndex, uint32_t>, std::set<uint16_t>> spreads_;
};

Status check_endpoints(const std::vector<topology::VertexIndex>& of,
                       const char* what,
                       size_t vertices) {
  if (of.empty() || of.size() > kDeviceDestinationsMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a channel on devices has {} {}; it takes from 1 to {}",
                      of.size(),
                      what,
                      kDeviceDestinationsMax);
  }
  std::set<topology::VertexIndex> seen;
  for (const topology::VertexIndex vertex : of) {
    if (vertex >= vertices || !seen.insert(vertex).second) {
      return make_error(ErrorCode::kInvalidArgument,
                        "{} are on vertex {}, which is named twice or none of the {} vertices that "
                        "have a table; name each once",
                        what,
                        vertex,
                        vertices);
    }
  }
  return {};
}

}  // namespace

Result<DeviceWiring> wire_device_channel(const DeviceChannelSpec& spec) {
  CD_TRY(check_endpoints(spec.endpoints.of_source, "sources", spec.tables.size()));
  CD_TRY(check_endpoints(spec.endpoints.of_destination, "destinations", spec.tables.size()));
  if (std::ranges::any_of(spec.lanes, &rings::LaneShape::is_text)) {
    return make_error(ErrorCode::kUnsupportedType,
                      "strings do not travel through channels on devices; send their numbers or "
                      "hashes, or use a channel of the host");
  }
  const bool needs_key = spec.rule == DeviceRule::kResidue || spec.rule == DeviceRule::kHash;
  if (spec.is_host.size() != spec.tables.size() || spec.blocks == 0 || spec.rings_per_link == 0 ||
      spec.lanes.empty() || (needs_key && spec.key_lane >= spec.lanes.size())) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "{} places for {} tables, {} blocks, {} rings per link, {} lanes, key {}: each "
        "table has a place, the rest is 1 or more, and the key is one of the lanes",
        spec.is_host.size(),
        spec.tables.size(),
        spec.blocks,
        spec.rings_per_link,
        spec.lanes.size(),
        spec.key_lane);
  }
  return Wirer(spec).wire();
}

}  // namespace crossdock::device
