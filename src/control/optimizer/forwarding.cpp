// Forwarding tables of one server's managed vertices (MGI, section 4.4): every path of the plan is cut at its managed
// vertices, and each piece becomes a hop in the table of the vertex where it begins.
#include <algorithm>
#include <limits>

#include "control/optimizer/channel_plan.hpp"
#include "control/optimizer/junction.hpp"

namespace crossdock::control {
namespace {

// A way as tables see it: vertices of this server, then of the destination's.
class PlacedWay {
 public:
  void add(const topology::ServerShape& shape,
           std::span<const topology::VertexIndex> vertices,
           topology::Place place) {
    for (size_t i = 0; i < vertices.size(); ++i) {
      const bool is_first = steps_.empty();
      if (i == 0 && !is_first) continue;  // the network, where both sections meet
      Step step{{place, vertices[i]}, is_managed(shape.kind(vertices[i])), 0, 0};
      if (i > 0) {
        const topology::Edge& edge = *shape.find_edge(vertices[i - 1], vertices[i]);
        step.bytes_per_s = edge.bytes_per_s;
        step.latency_s = edge.latency_s;
      }
      steps_.push_back(step);
    }
  }

  // Adds a hop to the table of every managed vertex of this server on the way but the last.
  void write(topology::DestinationKey destination,
             std::vector<topology::ForwardingTable>& tables) const {
    size_t next = steps_.size() - 1;  // the destination, which is managed
    int32_t hops_left = 1;
    for (size_t at = steps_.size() - 1; at-- > 0;) {
      if (!steps_[at].is_managed) continue;
      if (steps_[at].placed.place == topology::Place::kHere) {
        tables[steps_[at].placed.vertex].add(
            destination, steps_[next].placed, hop(at, next, hops_left));
      }
      next = at;
      ++hops_left;
    }
  }

 private:
  struct Step {
    topology::PlacedVertex placed;
    bool is_managed = false;
    double bytes_per_s = 0;  // of the edge that leads here
    double latency_s = 0;
  };

  topology::HopPath hop(size_t from, size_t to, int32_t hops_left) const {
    topology::HopPath path;
    path.between.reserve(to - from - 1);
    path.bytes_per_s = std::numeric_limits<double>::infinity();
    path.hops_left = hops_left;
    for (size_t i = from + 1; i <= to; ++i) {
      if (i < to) path.between.push_back(steps_[i].placed);
      path.bytes_per_s = std::min(path.bytes_per_s, steps_[i].bytes_per_s);
      path.latency_s += steps_[i].latency_s;
    }
    return path;
  }

  std::vector<Step> steps_;
};

void write_sections(const topology::ServerShape& shape,
                    const SectionPaths& sections,
                    topology::VertexIndex destination,
                    std::vector<topology::ForwardingTable>& tables) {
  for (int i = 0; i < sections.paths.size(); ++i) {
    PlacedWay way;
    way.add(shape, sections.paths[i].vertices, topology::Place::kHere);
    way.write({topology::DestinationKey::kOwnServer, destination}, tables);
  }
}

}  // namespace

Result<std::vector<ChannelPlan::VertexTable>> ChannelPlan::tables(
    topology::ServerIndex server) const {
  const int place = find_server(server);
  if (place < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "server {} has no endpoint in this channel, which has endpoints on {}; ask "
                      "for one of those",
                      server,
                      servers_.size());
  }
  const Part& part = parts_[part_of_[place]];
  const ServerPlan& plan = *part.plan;
  const topology::ServerShape& shape = *plan.shape;
  std::vector<topology::ForwardingTable> tables(static_cast<size_t>(shape.vertex_count()));

  for (size_t i = 0; i < plan.inside.size(); ++i) {
    const topology::VertexIndex destination = plan.destinations[i % plan.destinations.size()];
    if (plan.inside[i]) write_sections(shape, *plan.inside[i], destination, tables);
  }
  for (const Arrival& arrival : arrivals_) {
    const bool is_alike = arrival.structure == part.structure;
    if (is_alike && plan.takes_in) {
      write_sections(shape, *arrival.paths, arrival.destination, tables);
    }
    if (!plan.sends_out) continue;
    // A destination that takes in nothing, for no other server has a source, is not among those counted.
    const bool is_here = is_alike && plan.takes_in &&
                         std::ranges::binary_search(plan.destinations, arrival.destination);
    if (arrival.servers == (is_here ? 1U : 0U)) continue;
    const topology::ServerShape& there = *graph_->shape_at(arrival.structure);
    for (const SectionPathsPtr& leaving : plan.to_network) {
      for (const Junction& junction : join(*leaving, *arrival.paths)) {
        PlacedWay way;
        way.add(shape, leaving->paths[junction.out].vertices, topology::Place::kHere);
        way.add(there, arrival.paths->paths[junction.in].vertices, topology::Place::kThere);
        way.write({arrival.structure, arrival.destination}, tables);
      }
    }
  }
  std::vector<VertexTable> filled;
  for (size_t v = 0; v < tables.size(); ++v) {
    if (!tables[v].empty())
      filled.push_back({static_cast<topology::VertexIndex>(v), std::move(tables[v])});
  }
  return filled;
}

}  // namespace crossdock::control
