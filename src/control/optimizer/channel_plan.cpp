#include "control/optimizer/channel_plan.hpp"

#include <algorithm>
#include <unordered_set>

#include "control/optimizer/junction.hpp"

namespace crossdock::control {
namespace {

template <class T>
int64_t bytes_of(const std::vector<T>& values) {
  return static_cast<int64_t>(values.capacity() * sizeof(T));
}

int place_of(std::span<const topology::VertexIndex> sorted, topology::VertexIndex vertex) {
  const auto place = std::lower_bound(sorted.begin(), sorted.end(), vertex);
  if (place == sorted.end() || *place != vertex) return -1;
  return static_cast<int>(place - sorted.begin());
}

void append(Way& way,
            topology::ServerIndex server,
            std::span<const topology::VertexIndex> vertices) {
  for (const topology::VertexIndex vertex : vertices) way.vertices.push_back({server, vertex});
}

}  // namespace

int64_t ServerPlan::memory_bytes() const {
  return static_cast<int64_t>(sizeof *this) + bytes_of(sources) + bytes_of(destinations) +
         bytes_of(inside) + bytes_of(to_network) + bytes_of(from_network);
}

int ChannelPlan::find_server(topology::ServerIndex server) const {
  const auto place = std::lower_bound(servers_.begin(), servers_.end(), server);
  if (place == servers_.end() || *place != server) return -1;
  return static_cast<int>(place - servers_.begin());
}

const ChannelPlan::Arrival* ChannelPlan::find_arrival(topology::ShapeIndex structure,
                                                      topology::VertexIndex destination) const {
  const auto key = std::pair(structure, destination);
  const auto entry =
      std::lower_bound(arrivals_.begin(), arrivals_.end(), key, [](const Arrival& a, auto& k) {
        return std::pair(a.structure, a.destination) < k;
      });
  if (entry == arrivals_.end() || std::pair(entry->structure, entry->destination) != key) {
    return nullptr;
  }
  return &*entry;
}

Result<std::vector<Way>> ChannelPlan::ways(topology::Location source,
                                           topology::Location destination) const {
  const int from = find_server(source.server);
  const int to = find_server(destination.server);
  const int out = from < 0 ? -1 : place_of(server_plan(from).sources, source.vertex);
  const int in = to < 0 ? -1 : place_of(server_plan(to).destinations, destination.vertex);
  if (out < 0 || in < 0) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "server {} vertex {} is no {} of this channel, which has {}; ask for one of its endpoints",
        out < 0 ? source.server : destination.server,
        out < 0 ? source.vertex : destination.vertex,
        out < 0 ? "source" : "destination",
        out < 0 ? sources_->size() : destinations_->size());
  }
  std::vector<Way> ways;
  if (source == destination) return ways;
  const ServerPlan& plan = server_plan(from);
  if (from == to) {
    const size_t columns = plan.destinations.size();
    const SectionPaths& inside = *plan.inside[static_cast<size_t>(out) * columns + in];
    for (int i = 0; i < inside.paths.size(); ++i) {
      const topology::PathView path = inside.paths[i];
      Way& way =
          ways.emplace_back(Way{{}, path.bytes_per_s, path.latency_s, inside.flow_bytes_per_s[i]});
      append(way, source.server, path.vertices);
    }
    return ways;
  }
  const SectionPaths& leaving = *plan.to_network[out];
  const SectionPaths& entering =
      *find_arrival(parts_[part_of_[to]].structure, destination.vertex)->paths;
  for (const Junction& junction : join(leaving, entering)) {
    const topology::PathView first = leaving.paths[junction.out];
    const topology::PathView second = entering.paths[junction.in];
    Way& way = ways.emplace_back(Way{{},
                                     std::min(first.bytes_per_s, second.bytes_per_s),
                                     first.latency_s + second.latency_s,
                                     junction.flow_bytes_per_s});
    append(way, source.server, first.vertices);
    append(way, destination.server, second.vertices.subspan(1));
  }
  return ways;
}

int64_t ChannelPlan::memory_bytes() const {
  auto bytes = static_cast<int64_t>(sizeof *this) + bytes_of(servers_) + bytes_of(part_of_) +
               bytes_of(parts_) + bytes_of(arrivals_) + bytes_of(*sources_);
  if (destinations_ != sources_) bytes += bytes_of(*destinations_);
  std::unordered_set<const SectionPaths*> sets;
  for (const Part& part : parts_) {
    bytes += part.plan->memory_bytes();
    for (const auto* list :
         {&part.plan->inside, &part.plan->to_network, &part.plan->from_network}) {
      for (const SectionPathsPtr& set : *list) sets.insert(set.get());
    }
  }
  for (const Arrival& arrival : arrivals_) sets.insert(arrival.paths.get());
  for (const SectionPaths* set : sets) bytes += set == nullptr ? 0 : set->memory_bytes();
  return bytes;
}

}  // namespace crossdock::control
