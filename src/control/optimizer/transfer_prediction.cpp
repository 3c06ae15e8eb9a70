#include "control/optimizer/transfer_prediction.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "model/transfer_cost.hpp"

namespace crossdock::control {
namespace {

// The edges of a way. Where it enters the destination's server, the network is that server's own vertex for it.
std::vector<FullEdge> edges_of(const topology::InfrastructureGraph& graph, const Way& way) {
  std::vector<FullEdge> edges;
  for (size_t i = 1; i < way.vertices.size(); ++i) {
    const topology::Location to = way.vertices[i];
    topology::Location from = way.vertices[i - 1];
    const topology::ServerShape& shape = graph.shape(to.server);
    if (from.server != to.server) from = {to.server, *shape.network()};
    edges.push_back({from, to, shape.find_edge(from.vertex, to.vertex)->bytes_per_s});
  }
  return edges;
}

}  // namespace

Result<TransferPrediction> predict_transfer(const ChannelPlan& plan,
                                            topology::Location source,
                                            topology::Location destination,
                                            double bytes) {
  if (!std::isfinite(bytes) || bytes < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a transfer of {} bytes: it must be a number, 0 or more",
                      bytes);
  }
  auto ways = plan.ways(source, destination);
  if (!ways.ok()) return ways.error();
  TransferPrediction prediction;
  std::map<std::pair<topology::Location, topology::Location>, double> load;
  for (const Way& way : ways.value()) {
    if (way.flow_bytes_per_s <= 0) continue;
    prediction.bytes_per_s += way.flow_bytes_per_s;
    prediction.latency_s = std::max(prediction.latency_s, way.latency_s);
    for (const FullEdge& edge : edges_of(plan.graph(), way)) {
      load[{edge.from, edge.to}] += way.flow_bytes_per_s;
    }
  }
  if (ways.value().empty()) return prediction;
  for (const Way& way : ways.value()) {
    if (way.flow_bytes_per_s <= 0) continue;
    const std::vector<FullEdge> edges = edges_of(plan.graph(), way);
    // Flows are whole bytes per second, capacities need not be.
    const auto full = std::ranges::find_if(edges, [&](const FullEdge& edge) {
      return load[{edge.from, edge.to}] >= edge.bytes_per_s - 1;
    });
    if (full == edges.end()) continue;
    if (std::ranges::find(prediction.bottlenecks, *full) == prediction.bottlenecks.end()) {
      prediction.bottlenecks.push_back(*full);
    }
  }
  prediction.seconds = model::transfer_seconds(bytes, prediction.bytes_per_s, prediction.latency_s);
  return prediction;
}

}  // namespace crossdock::control
