// Plans: the paper's examples, what is shared between servers and channels, and what is refused.
#include "control/optimizer/transfer_optimizer.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/optimizer/paper_servers.hpp"
#include "control/optimizer/whole_graph_flow.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::control {
namespace {

using GraphPtr = std::shared_ptr<const topology::InfrastructureGraph>;
using PlanPtr = std::shared_ptr<const ChannelPlan>;

PlanPtr plan_of(TransferOptimizer& optimizer,
                const std::vector<topology::Location>& from,
                const std::vector<topology::Location>& to) {
  Result<PlanPtr> plan = optimizer.plan(from, to);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return plan.ok() ? plan.value() : nullptr;
}

std::vector<Way> ways_of(const ChannelPlan& plan, topology::Location from, topology::Location to) {
  Result<std::vector<Way>> ways = plan.ways(from, to);
  EXPECT_TRUE(ways.ok()) << (ways.ok() ? "" : ways.error().message);
  return ways.ok() ? ways.value() : std::vector<Way>{};
}

std::vector<std::string> names(const ChannelPlan& plan, const std::vector<Way>& ways) {
  std::vector<std::string> strings;
  for (const Way& way : ways) strings.push_back(names_of(plan.graph(), way.vertices));
  return strings;
}

TEST(TransferOptimizer, JoinsBothNicsOfBothServersAsInFigure5c) {
  const GraphPtr graph = servers_of(topology::two_socket_parts(), 2);
  TransferOptimizer optimizer(graph);
  const topology::Location v6 = at(*graph, "node0/gpu0");
  const topology::Location v14 = at(*graph, "node1/gpu0");
  const PlanPtr plan = plan_of(optimizer, {v6}, {v14});
  EXPECT_THAT(
      names(*plan, ways_of(*plan, v6, v14)),
      testing::ElementsAre("node0/gpu0 node0/nic0 network node1/nic0 node1/gpu0",
                           "node0/gpu0 node0/pcie0 node0/cpu0 node0/cpu1 node0/pcie1 node0/nic1 "
                           "network "
                           "node1/nic1 node1/pcie1 node1/cpu1 node1/cpu0 node1/pcie0 node1/gpu0"));
  for (const Way& way : ways_of(*plan, v6, v14)) EXPECT_EQ(way.bytes_per_s, 12.5e9);
}

TEST(TransferOptimizer, UsesAllNicsOfAServer) {
  const GraphPtr graph = servers_of(figure_5b_with_nics(), 2);
  TransferOptimizer optimizer(graph);
  const topology::Location from = at(*graph, "node0/gpu5");
  const topology::Location to = at(*graph, "node1/gpu2");
  const PlanPtr plan = plan_of(optimizer, {from}, {to});
  std::set<topology::Location> nics;
  double flow = 0;
  for (const Way& way : ways_of(*plan, from, to)) {
    flow += way.flow_bytes_per_s;
    for (const topology::Location vertex : way.vertices) {
      if (graph->shape(vertex.server).kind(vertex.vertex) == topology::VertexKind::kNic)
        nics.insert(vertex);
    }
  }
  EXPECT_EQ(nics.size(), 16U);
  EXPECT_EQ(flow, 200e9);
}

TEST(TransferOptimizer, AddsPathsThatOnlyAllSourcesTogetherNeed) {
  // Either GPU alone fills nic0 and needs no more; together they need nic1 as well.
  topology::ServerParts parts;
  const topology::VertexIndex pcie_switch = parts.add(topology::VertexKind::kPcieSwitch, "pcie0");
  const topology::VertexIndex network = parts.add(topology::VertexKind::kNetwork, "network");
  for (int i = 0; i < 2; ++i) {
    const topology::VertexIndex gpu =
        parts.add(topology::VertexKind::kGpu, "gpu" + std::to_string(i));
    const topology::VertexIndex nic =
        parts.add(topology::VertexKind::kNic, "nic" + std::to_string(i));
    parts.connect(gpu, pcie_switch, topology::pcie(16e9));
    parts.connect(nic, pcie_switch, topology::pcie(16e9));
    parts.connect(nic, network, topology::link_of(topology::LinkKind::kNetwork, 16e9));
  }
  const GraphPtr graph = servers_of(parts, 2);
  TransferOptimizer optimizer(graph);
  const std::vector<topology::Location> from = {at(*graph, "node0/gpu0"), at(*graph, "node0/gpu1")};
  const std::vector<topology::Location> to = {at(*graph, "node1/gpu0"), at(*graph, "node1/gpu1")};
  EXPECT_EQ(ways_of(*plan_of(optimizer, {from[0]}, to), from[0], to[0]).size(), 1U);
  const PlanPtr plan = plan_of(optimizer, from, to);
  EXPECT_EQ(plan->server_plan(0).out_bytes_per_s, 32e9);
  EXPECT_EQ(plan->server_plan(1).in_bytes_per_s, 32e9);
  std::set<topology::Location> nics;
  for (const topology::Location source : from) {
    for (const Way& way : ways_of(*plan, source, to[0])) nics.insert(way.vertices[2]);
  }
  EXPECT_EQ(nics.size(), 2U);
}

TEST(TransferOptimizer, PlansServersThatAreAlikeOnce) {
  const GraphPtr graph = servers_of(figure_5b_with_nics(), 13);
  TransferOptimizer optimizer(graph);
  std::vector<topology::Location> gpus = gpus_of(*graph);
  gpus.resize(100);  // half of the last server
  const PlanPtr plan = plan_of(optimizer, gpus, gpus);
  EXPECT_EQ(plan->servers().size(), 13U);
  const OptimizerContents contents = optimizer.contents();
  EXPECT_EQ(contents.structures, 1);
  EXPECT_EQ(contents.server_plans, 2);
  EXPECT_TRUE(ways_of(*plan, gpus[3], gpus[3]).empty());
}

TEST(TransferOptimizer, NeedsMemoryThatGrowsWithEndpointsNotWithPairs) {
  const auto bytes_for = [](int servers) {
    const GraphPtr graph = servers_of(figure_5b_with_nics(), servers);
    TransferOptimizer optimizer(graph);
    const std::vector<topology::Location> gpus = gpus_of(*graph);
    return plan_of(optimizer, gpus, gpus)->memory_bytes();
  };
  const int64_t few = bytes_for(16);
  const int64_t more = bytes_for(32);
  const int64_t most = bytes_for(256);
  const int64_t per_server = (more - few) / 16;
  EXPECT_LE(per_server, 8 * 16);  // 8 endpoints of 8 bytes, and as much again
  EXPECT_EQ(most - few, per_server * 240);
}

TEST(TransferOptimizer, GivesASecondChannelOverTheSameEndpointsTheSamePlan) {
  const GraphPtr graph = servers_of(topology::two_socket_parts(), 3);
  TransferOptimizer optimizer(graph);
  std::vector<topology::Location> gpus = gpus_of(*graph);
  const PlanPtr first = plan_of(optimizer, gpus, gpus);
  EXPECT_EQ(plan_of(optimizer, gpus, gpus), first);
  std::ranges::reverse(gpus);
  EXPECT_EQ(plan_of(optimizer, gpus, gpus), first);
  gpus.pop_back();
  EXPECT_NE(plan_of(optimizer, gpus, gpus), first);
}

TEST(TransferOptimizer, ForgetsTheOldestPlanFirst) {
  const GraphPtr graph = servers_of(topology::two_socket_parts(), 4);
  OptimizerLimits limits;
  limits.plans_kept = 2;
  limits.server_plans_kept = 2;
  TransferOptimizer optimizer(graph, limits);
  const std::vector<topology::Location> gpus = gpus_of(*graph);
  const PlanPtr first = plan_of(optimizer, {gpus[0]}, {gpus[2]});
  plan_of(optimizer, {gpus[0]}, {gpus[4]});
  EXPECT_EQ(plan_of(optimizer, {gpus[0]}, {gpus[2]}), first);
  plan_of(optimizer, {gpus[0]}, {gpus[6]});
  EXPECT_EQ(plan_of(optimizer, {gpus[0]}, {gpus[2]}), first);
  EXPECT_EQ(optimizer.contents().plans, 2);
  EXPECT_LE(optimizer.contents().server_plans, 2);
}

TEST(TransferOptimizer, KeepsPathsWhileTheGraphGrows) {
  const GraphPtr small = servers_of(topology::two_socket_parts(), 2);
  TransferOptimizer optimizer(small);
  const std::vector<topology::Location> gpus = gpus_of(*small);
  const PlanPtr before = plan_of(optimizer, gpus, gpus);
  const OptimizerContents kept = optimizer.contents();
  const GraphPtr large = servers_of(topology::two_socket_parts(), 5);
  optimizer.set_graph(large);
  EXPECT_EQ(optimizer.contents().plans, 0);
  EXPECT_EQ(optimizer.contents().path_bytes, kept.path_bytes);
  const PlanPtr after = plan_of(optimizer, gpus, gpus);
  EXPECT_EQ(optimizer.contents().path_bytes, kept.path_bytes);
  EXPECT_EQ(&before->graph(), small.get());
  EXPECT_EQ(&after->graph(), large.get());
  EXPECT_EQ(names(*before, ways_of(*before, gpus[0], gpus[3])),
            names(*after, ways_of(*after, gpus[0], gpus[3])));
  optimizer.set_graph(servers_of(figure_5a(), 1));
  EXPECT_EQ(optimizer.contents().server_plans, 0);
}

TEST(TransferOptimizer, DoesNotDependOnTheOrderOfVertices) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 50; ++i) {
    const topology::ServerParts parts = random_server(random);
    const GraphPtr graph = servers_of(parts, 2);
    const GraphPtr mixed =
        servers_of({topology::shuffled(parts, random), topology::shuffled(parts, random)});
    TransferOptimizer first(graph);
    TransferOptimizer second(mixed);
    const std::vector<topology::Location> gpus = gpus_of(*graph);
    const PlanPtr one = plan_of(first, gpus, gpus);
    const PlanPtr other = plan_of(second, gpus, gpus);
    for (const topology::Location from : gpus) {
      for (const topology::Location to : gpus) {
        EXPECT_EQ(names(*one, ways_of(*one, from, to)), names(*other, ways_of(*other, from, to)));
      }
    }
  }
}

std::string error_of(TransferOptimizer& optimizer,
                     const std::vector<topology::Location>& from,
                     const std::vector<topology::Location>& to) {
  const Result<PlanPtr> plan = optimizer.plan(from, to);
  return plan.ok() ? "" : code_text(plan.error().code) + " " + plan.error().message;
}

TEST(TransferOptimizer, SaysWhatIsWrongWithEndpoints) {
  const GraphPtr graph = servers_of(topology::two_socket_parts(), 2);
  OptimizerLimits limits;
  limits.endpoints_max = 2;
  TransferOptimizer optimizer(graph, limits);
  const topology::Location gpu = at(*graph, "node1/gpu1");
  const topology::Location nic = at(*graph, "node1/nic0");
  const std::vector<topology::Location> gpus = gpus_of(*graph);
  using testing::HasSubstr;
  EXPECT_THAT(error_of(optimizer, {}, {gpu}), HasSubstr("CD-105 a channel with 0 sources"));
  EXPECT_THAT(error_of(optimizer, {gpu}, gpus), HasSubstr("4 destinations: it needs 1 to 2"));
  EXPECT_THAT(error_of(optimizer, {gpu, gpu}, {gpu}), HasSubstr("node1/gpu1 is named twice"));
  EXPECT_THAT(error_of(optimizer, {nic}, {gpu}),
              HasSubstr("node1/nic0 cannot hold data, being a nic;"));
  EXPECT_THAT(error_of(optimizer, {{9, 0}}, {gpu}),
              HasSubstr("vertex 0 of server 9 does not exist"));
  EXPECT_THAT(error_of(optimizer, {{0, 99}}, {gpu}), HasSubstr("vertex 99 of server 0 does not"));
}

TEST(TransferOptimizer, SaysWhatNothingConnects) {
  topology::ServerParts parts = topology::two_socket_parts();
  std::erase_if(parts.edges, [](const topology::Edge& edge) {
    return edge.kind == topology::LinkKind::kSocket;
  });
  const GraphPtr apart = servers_of(parts, 2);
  TransferOptimizer optimizer(apart);
  EXPECT_EQ(error_of(optimizer, {at(*apart, "node0/gpu0")}, {at(*apart, "node1/gpu1")}), "");
  EXPECT_THAT(
      error_of(optimizer, {at(*apart, "node0/gpu0")}, {at(*apart, "node0/gpu1")}),
      testing::HasSubstr("CD-602 no path leads from node0/gpu0 to node0/gpu1 over at most 2"));
  std::erase_if(parts.edges, [](const topology::Edge& edge) {
    return edge.kind == topology::LinkKind::kNetwork;
  });
  const GraphPtr alone = servers_of(parts, 2);
  TransferOptimizer other(alone);
  EXPECT_THAT(error_of(other, {at(*alone, "node0/gpu0")}, {at(*alone, "node1/gpu1")}),
              testing::HasSubstr("from node0/gpu0 to the network"));
}

TEST(TransferOptimizer, SaysThatAVertexIsNoEndpointOfAChannel) {
  const GraphPtr graph = servers_of(topology::two_socket_parts(), 2);
  TransferOptimizer optimizer(graph);
  const std::vector<topology::Location> gpus = gpus_of(*graph);
  const PlanPtr plan = plan_of(optimizer, {gpus[0]}, {gpus[2]});
  EXPECT_FALSE(plan->ways(gpus[1], gpus[2]).ok());
  EXPECT_FALSE(plan->ways(gpus[0], gpus[0]).ok());
  EXPECT_TRUE(plan->tables(1).ok());
  EXPECT_FALSE(plan->tables(7).ok());
}

// The edges that some way of the plan uses carry as much as all edges do.
TEST(TransferOptimizer, LosesNoBandwidthBetweenRandomServers) {
  OptimizerLimits limits;
  limits.relays_max = 16;
  for (int seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    std::vector<topology::ServerParts> parts;
    for (int i = 0; i < 4; ++i) parts.push_back(random_server(random));
    parts.push_back(parts[3]);
    const GraphPtr graph = servers_of(parts);
    std::vector<topology::Location> from, to;
    for (const topology::Location gpu : gpus_of(*graph)) {
      if (random() % 3 == 0) continue;
      (gpu.server < 2 ? from : to).push_back(gpu);
    }
    if (from.empty() || to.empty()) continue;
    TransferOptimizer optimizer(graph, limits);
    const PlanPtr plan = plan_of(optimizer, from, to);
    std::set<std::tuple<topology::ServerIndex, topology::VertexIndex, topology::VertexIndex>> used;
    for (const topology::Location source : from) {
      for (const topology::Location sink : to) {
        for (const Way& way : ways_of(*plan, source, sink)) {
          for (size_t i = 1; i < way.vertices.size(); ++i) {
            const topology::Location a = way.vertices[i - 1];
            const topology::Location b = way.vertices[i];
            // From the network, named by the source's server.
            const bool crosses = a.server != b.server;
            const topology::VertexIndex first =
                crosses ? *graph->shape(b.server).network() : a.vertex;
            used.emplace(b.server, first, b.vertex);
          }
        }
      }
    }
    const auto all = [](topology::ServerIndex, const topology::Edge&) { return true; };
    const auto only_used = [&](topology::ServerIndex server, const topology::Edge& edge) {
      return used.contains({server, edge.from, edge.to});
    };
    const double most = whole_graph_flow(*graph, from, to, all);
    EXPECT_EQ(whole_graph_flow(*graph, from, to, only_used), most);
    double out = 0;
    double in = 0;
    for (int i = 0; i < static_cast<int>(plan->servers().size()); ++i) {
      out += plan->server_plan(i).out_bytes_per_s;
      in += plan->server_plan(i).in_bytes_per_s;
    }
    EXPECT_EQ(std::min(out, in), most);
  }
}

}  // namespace
}  // namespace crossdock::control
