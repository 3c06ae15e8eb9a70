// Times of single transfers, and the links that bound them.
#include "control/optimizer/transfer_prediction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/optimizer/paper_servers.hpp"
#include "control/optimizer/transfer_optimizer.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::control {
namespace {

TransferPrediction predicted(const std::shared_ptr<const topology::InfrastructureGraph>& graph,
                             const std::string& from,
                             const std::string& to,
                             double bytes) {
  TransferOptimizer optimizer(graph);
  const topology::Location source = at(*graph, from);
  const topology::Location destination = at(*graph, to);
  const std::vector<topology::Location> sources = {source};
  const std::vector<topology::Location> destinations = {destination};
  const auto plan = optimizer.plan(sources, destinations);
  EXPECT_TRUE(plan.ok());
  const auto prediction = predict_transfer(*plan.value(), source, destination, bytes);
  EXPECT_TRUE(prediction.ok());
  return prediction.value();
}

std::vector<std::string> names_of_full(const topology::InfrastructureGraph& graph,
                                       const TransferPrediction& prediction) {
  std::vector<std::string> names;
  for (const FullEdge& edge : prediction.bottlenecks) {
    names.push_back(graph.full_name(edge.from) + " > " + graph.full_name(edge.to));
  }
  return names;
}

TEST(TransferPrediction, AddsUpAllPathsOfAPair) {
  const auto graph = servers_of(figure_5b(), 1);
  const TransferPrediction prediction = predicted(graph, "gpu2", "gpu3", 332e9);
  EXPECT_EQ(prediction.bytes_per_s, 332e9);
  EXPECT_DOUBLE_EQ(prediction.seconds, 1);
  EXPECT_THAT(names_of_full(*graph, prediction),
              testing::ElementsAre("gpu2 > nvswitch", "gpu2 > pcie1"));
}

TEST(TransferPrediction, IsBoundByTheNarrowerServer) {
  topology::ServerParts one_nic = topology::two_socket_parts();
  std::erase_if(one_nic.edges,
                [](const topology::Edge& edge) { return edge.from == 5 || edge.to == 5; });
  const auto graph = servers_of({topology::two_socket_parts(), one_nic});
  const TransferPrediction prediction = predicted(graph, "node0/gpu0", "node1/gpu0", 12.5e9);
  EXPECT_DOUBLE_EQ(prediction.seconds, 1);
  EXPECT_THAT(names_of_full(*graph, prediction), testing::ElementsAre("node0/nic0 > network"));
  const TransferPrediction back = predicted(graph, "node1/gpu0", "node0/gpu0", 0);
  EXPECT_EQ(back.seconds, 0);
  EXPECT_EQ(back.bytes_per_s, 12.5e9);
}

TEST(TransferPrediction, NeedsNoTimeWithoutAWire) {
  const auto graph = servers_of(figure_5a(), 1);
  const TransferPrediction prediction = predicted(graph, "gpu0", "gpu0", 1e9);
  EXPECT_EQ(prediction.seconds, 0);
  EXPECT_TRUE(prediction.bottlenecks.empty());
}

TEST(TransferPrediction, RefusesSizesThatAreNone) {
  const auto graph = servers_of(figure_5a(), 1);
  TransferOptimizer optimizer(graph);
  const std::vector<topology::Location> gpus = gpus_of(*graph);
  const auto plan = optimizer.plan(gpus, gpus);
  EXPECT_FALSE(predict_transfer(*plan.value(), gpus[0], gpus[1], -1).ok());
  EXPECT_FALSE(predict_transfer(*plan.value(), gpus[0], {0, 0}, 1).ok());
}

}  // namespace
}  // namespace crossdock::control
