// One server at a time: bytes inside it, bytes that leave it, bytes that come in.
#include "control/optimizer/exchange_load.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <vector>

namespace crossdock::control {
namespace {

constexpr int kShares = 24;  // of the bytes of a pair
constexpr int kRounds = 6;

// Bytes that may take any of several paths, each a list of edges.
struct Traffic {
  double bytes = 0;
  std::vector<std::vector<uint32_t>> paths;
  std::vector<size_t> path_of_share;
};

class ServerLoad {
 public:
  explicit ServerLoad(const topology::ServerShape& shape)
      : shape_(shape), load_(shape.edges().size(), 0.0) {}

  void add(const SectionPaths& sections, double bytes) {
    Traffic& traffic = traffic_.emplace_back();
    traffic.bytes = bytes;
    for (int i = 0; i < sections.paths.size(); ++i) {
      traffic.paths.push_back(edges_of(sections.paths[i].vertices));
    }
  }

  void spread() {
    for (int round = 0; round < kRounds; ++round) {
      for (Traffic& traffic : traffic_) place(traffic);
    }
  }

  // The edge that takes longest.
  uint32_t fullest() const {
    uint32_t worst = 0;
    for (uint32_t edge = 1; edge < load_.size(); ++edge) {
      if (seconds(edge) > seconds(worst)) worst = edge;
    }
    return worst;
  }

  // Of each traffic in the order of its addition: which part of its bytes takes which path.
  std::vector<std::vector<double>> shares() const {
    std::vector<std::vector<double>> all;
    for (const Traffic& traffic : traffic_) {
      std::vector<double>& shares = all.emplace_back(traffic.paths.size(), 0.0);
      for (const size_t path : traffic.path_of_share) shares[path] += 1.0 / kShares;
    }
    return all;
  }

  double seconds(uint32_t edge) const { return load_[edge] / shape_.edges()[edge].bytes_per_s; }

  std::vector<double> seconds() const {
    std::vector<double> all(load_.size());
    for (uint32_t edge = 0; edge < load_.size(); ++edge) all[edge] = seconds(edge);
    return all;
  }

 private:
  std::vector<uint32_t> edges_of(std::span<const topology::VertexIndex> vertices) const {
    std::vector<uint32_t> edges;
    for (size_t i = 1; i < vertices.size(); ++i) {
      const topology::Edge* edge = shape_.find_edge(vertices[i - 1], vertices[i]);
      edges.push_back(static_cast<uint32_t>(edge - shape_.edges().data()));
    }
    return edges;
  }

  double cost_of(const std::vector<uint32_t>& path, double bytes) const {
    double cost = 0;
    for (const uint32_t edge : path) {
      const double rate = shape_.edges()[edge].bytes_per_s;
      cost += std::pow((load_[edge] + bytes) / rate, 8) - std::pow(load_[edge] / rate, 8);
    }
    return cost;
  }

  void place(Traffic& traffic) {
    const double share = traffic.bytes / kShares;
    const bool is_first = traffic.path_of_share.empty();
    traffic.path_of_share.resize(kShares, 0);
    if (share <= 0) return;
    for (size_t& place : traffic.path_of_share) {
      if (!is_first) shift(traffic.paths[place], -share);
      double best = std::numeric_limits<double>::infinity();
      for (size_t path = 0; path < traffic.paths.size(); ++path) {
        const double cost = cost_of(traffic.paths[path], share);
        if (cost >= best) continue;
        best = cost;
        place = path;
      }
      shift(traffic.paths[place], share);
    }
  }

  void shift(const std::vector<uint32_t>& path, double bytes) {
    for (const uint32_t edge : path) load_[edge] = std::max(0.0, load_[edge] + bytes);
  }

  const topology::ServerShape& shape_;
  std::vector<double> load_;  // per edge, bytes
  std::vector<Traffic> traffic_;
};

// What crosses a server's links at once, spread over its paths.
ServerLoad load_of(const ChannelPlan& plan, const ServerPlan& server, const PairBytes& bytes) {
  ServerLoad load(*server.shape);
  for (const SectionPathsPtr& paths : server.inside) {
    if (paths) load.add(*paths, bytes.inside);
  }
  const auto remote_to =
      static_cast<double>(plan.destinations().size() - server.destinations.size());
  const auto remote_from = static_cast<double>(plan.sources().size() - server.sources.size());
  for (const SectionPathsPtr& paths : server.to_network) load.add(*paths, bytes.remote * remote_to);
  for (const SectionPathsPtr& paths : server.from_network) {
    load.add(*paths, bytes.remote * remote_from);
  }
  load.spread();
  return load;
}

}  // namespace

ExchangeShares exchange_shares(const ChannelPlan& plan, int server, const PairBytes& bytes) {
  const ServerPlan& part = plan.server_plan(server);
  std::vector<std::vector<double>> all = load_of(plan, part, bytes).shares();
  ExchangeShares shares;
  auto next = all.begin();
  for (const SectionPathsPtr& paths : part.inside) {
    shares.inside.push_back(paths ? std::move(*next++) : std::vector<double>());
  }
  for (size_t i = 0; i < part.to_network.size(); ++i)
    shares.to_network.push_back(std::move(*next++));
  for (size_t i = 0; i < part.from_network.size(); ++i) {
    shares.from_network.push_back(std::move(*next++));
  }
  return shares;
}

ExchangeLoad exchange_load(const ChannelPlan& plan) {
  ExchangeLoad result;
  std::unordered_set<const ServerPlan*> seen;
  for (int i = 0; i < static_cast<int>(plan.servers().size()); ++i) {
    const ServerPlan& server = plan.server_plan(i);
    if (!seen.insert(&server).second || server.shape->edges().empty()) continue;
    const ServerLoad inside = load_of(plan, server, {.inside = 1, .remote = 0});
    result.inside_seconds_per_byte =
        std::max(result.inside_seconds_per_byte, inside.seconds(inside.fullest()));

    const ServerLoad all = load_of(plan, server, {});
    const uint32_t fullest = all.fullest();
    if (all.seconds(fullest) <= result.seconds_per_byte) continue;
    const topology::Edge& edge = server.shape->edges()[fullest];
    result.seconds_per_byte = all.seconds(fullest);
    result.from = {plan.servers()[i], edge.from};
    result.to = {plan.servers()[i], edge.to};
    result.edge_bytes_per_s = edge.bytes_per_s;
    result.edge_seconds_per_byte = all.seconds();
  }
  return result;
}

}  // namespace crossdock::control
