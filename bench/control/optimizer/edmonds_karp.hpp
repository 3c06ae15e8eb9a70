// Plain Edmonds-Karp on the whole infrastructure graph: what planning costs without structure. No sharing, no caching,
// no limit of relays, and NICs may be bridges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "topology/graph.hpp"

namespace crossdock {

class WholeGraph {
 public:
  // Every endpoint gets a vertex where its rows begin and one where they end, beside the one that relays; so a vertex
  // can be source and destination of one flow.
  WholeGraph(const topology::InfrastructureGraph& graph,
             std::span<const topology::Location> endpoints)
      : endpoints_(static_cast<uint32_t>(endpoints.size())), first_(graph.vertex_count()) {
    out_.resize(first_ + 2 * endpoints_ + 2);
    for (topology::ServerIndex server = 0;
         server < static_cast<topology::ServerIndex>(graph.server_count());
         ++server) {
      for (const topology::Edge& edge : graph.shape(server).edges()) {
        add(graph.global({server, edge.from}), graph.global({server, edge.to}), edge.bytes_per_s);
      }
    }
    for (uint32_t i = 0; i < endpoints_; ++i) {
      const auto [server, vertex] = endpoints[i];
      for (const topology::Edge& edge : graph.shape(server).edges()) {
        if (edge.from == vertex) add(begin(i), graph.global({server, edge.to}), edge.bytes_per_s);
        if (edge.to == vertex) add(graph.global({server, edge.from}), end(i), edge.bytes_per_s);
      }
      add(source(), begin(i), kUnbounded);
      add(end(i), sink(), kUnbounded);
    }
    capacity_.reserve(arcs_.size());
    for (const Arc& arc : arcs_) capacity_.push_back(arc.left);
  }

  // From all endpoints together to all together.
  double flow_of_all() { return flow(source(), sink()); }
  double flow_between(uint32_t from, uint32_t to) { return flow(begin(from), end(to)); }

 private:
  static constexpr double kUnbounded = 1e18;
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Arc {
    uint32_t to;
    double left;
  };

  uint32_t begin(uint32_t endpoint) const { return first_ + endpoint; }
  uint32_t end(uint32_t endpoint) const { return first_ + endpoints_ + endpoint; }
  uint32_t source() const { return first_ + 2 * endpoints_; }
  uint32_t sink() const { return source() + 1; }

  void add(uint32_t from, uint32_t to, double capacity) {
    out_[from].push_back(static_cast<uint32_t>(arcs_.size()));
    arcs_.push_back({to, capacity});
    out_[to].push_back(static_cast<uint32_t>(arcs_.size()));
    arcs_.push_back({from, 0});
  }

  bool search(uint32_t from, uint32_t to) {
    came_by_.assign(out_.size(), kNone);
    queue_.assign(1, from);
    for (size_t head = 0; head < queue_.size(); ++head) {
      for (const uint32_t arc : out_[queue_[head]]) {
        const uint32_t next = arcs_[arc].to;
        if (arcs_[arc].left <= 0 || came_by_[next] != kNone || next == from) continue;
        came_by_[next] = arc;
        if (next == to) return true;
        queue_.push_back(next);
      }
    }
    return false;
  }

  double flow(uint32_t from, uint32_t to) {
    for (size_t i = 0; i < arcs_.size(); ++i) arcs_[i].left = capacity_[i];
    double total = 0;
    while (search(from, to)) {
      double width = std::numeric_limits<double>::infinity();
      for (uint32_t at = to; at != from; at = arcs_[came_by_[at] ^ 1].to) {
        width = std::min(width, arcs_[came_by_[at]].left);
      }
      for (uint32_t at = to; at != from; at = arcs_[came_by_[at] ^ 1].to) {
        arcs_[came_by_[at]].left -= width;
        arcs_[came_by_[at] ^ 1].left += width;
      }
      total += width;
    }
    return total;
  }

  uint32_t endpoints_;
  uint32_t first_;  // vertex of the endpoints' own ones
  std::vector<std::vector<uint32_t>> out_;
  std::vector<Arc> arcs_;  // an arc and its reverse side by side
  std::vector<double> capacity_;
  std::vector<uint32_t> came_by_, queue_;
};

}  // namespace crossdock
