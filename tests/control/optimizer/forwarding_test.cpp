// Forwarding tables: the paper's entry, merging, and that rows arrive whichever hops they take.
#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/optimizer/paper_servers.hpp"
#include "control/optimizer/transfer_optimizer.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::control {
namespace {

using ForwardingGraphPtr = std::shared_ptr<const topology::InfrastructureGraph>;
using ForwardingPlanPtr = std::shared_ptr<const ChannelPlan>;

ForwardingPlanPtr forwarding_plan_of(const ForwardingGraphPtr& graph,
                                     const std::vector<topology::Location>& from,
                                     const std::vector<topology::Location>& to) {
  TransferOptimizer optimizer(graph);
  Result<ForwardingPlanPtr> plan = optimizer.plan(from, to);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return plan.value();
}

// All tables of a plan, by vertex.
std::map<topology::Location, topology::ForwardingTable> tables_of(const ChannelPlan& plan) {
  std::map<topology::Location, topology::ForwardingTable> tables;
  for (const topology::ServerIndex server : plan.servers()) {
    auto of_server = plan.tables(server);
    EXPECT_TRUE(of_server.ok());
    for (auto& [vertex, table] : of_server.value()) {
      tables.emplace(topology::Location{server, vertex}, std::move(table));
    }
  }
  return tables;
}

// "next via a b (hops left) | ..." of one entry; vertices of the destination's server in brackets.
std::string text_of(const topology::ServerShape& shape,
                    const topology::ForwardingTable::Entry& entry) {
  const auto name = [&](topology::PlacedVertex placed) {
    const std::string& plain = shape.vertex(placed.vertex).name;
    return placed.place == topology::Place::kHere ? plain : "[" + plain + "]";
  };
  std::string text;
  for (const topology::NextHop& hop : entry.next_hops) {
    for (const topology::HopPath& path : hop.paths) {
      text += (text.empty() ? "" : " | ") + name(hop.next) + " via";
      for (const topology::PlacedVertex vertex : path.between) text += " " + name(vertex);
      text += " (" + std::to_string(path.hops_left) + ")";
    }
  }
  return text;
}

TEST(Forwarding, HoldsTheEntryOfFigure5c) {
  const ForwardingGraphPtr graph = servers_of(topology::two_socket_parts(), 2);
  const topology::Location v6 = at(*graph, "node0/gpu0");
  const topology::Location v14 = at(*graph, "node1/gpu0");
  const ForwardingPlanPtr plan = forwarding_plan_of(graph, {v6}, {v14});
  const auto tables = tables_of(*plan);
  const topology::ServerShape& shape = graph->shape(0);
  const auto entry = [&](const char* vertex) {
    const topology::Location place = at(*graph, vertex);
    return text_of(shape, *tables.at(place).find(*graph, place.server, v14));
  };
  EXPECT_EQ(tables.at(v6).entries().size(), 1U);
  EXPECT_EQ(entry("node0/gpu0"), "cpu0 via pcie0 (5) | [gpu0] via nic0 network [nic0] (1)");
  EXPECT_EQ(entry("node0/cpu0"), "cpu1 via (4)");
  EXPECT_EQ(entry("node0/cpu1"), "[cpu1] via pcie1 nic1 network [nic1] [pcie1] (3)");
  EXPECT_EQ(entry("node1/cpu1"), "cpu0 via (2)");
  EXPECT_EQ(entry("node1/cpu0"), "gpu0 via pcie0 (1)");
  EXPECT_FALSE(tables.contains(v14));
  EXPECT_EQ(tables.size(), 5U);
}

TEST(Forwarding, MergesByDestinationAndThenByNextHop) {
  const ForwardingGraphPtr graph = servers_of(figure_5b(), 1);
  const topology::Location from = at(*graph, "gpu2");
  const topology::Location to = at(*graph, "gpu3");
  const auto tables = tables_of(*forwarding_plan_of(graph, {from, at(*graph, "gpu0")}, {to}));
  const topology::ForwardingTable::Entry& entry = *tables.at(from).find(*graph, 0, to);
  ASSERT_EQ(entry.next_hops.size(), 1U);
  EXPECT_EQ(text_of(graph->shape(0), entry), "gpu3 via nvswitch (1) | gpu3 via pcie1 (1)");
  EXPECT_EQ(entry.next_hops[0].paths[0].bytes_per_s, 300e9);
  EXPECT_EQ(entry.next_hops[0].paths[1].bytes_per_s, 32e9);
}

TEST(Forwarding, NamesNoServerOfAStructureThatHasOnlyOne) {
  const ForwardingGraphPtr graph =
      servers_of({topology::two_socket_parts(), figure_5b_with_nics()});
  const std::vector<topology::Location> gpus = {at(*graph, "node0/gpu0"), at(*graph, "node0/gpu1")};
  const auto tables = tables_of(*forwarding_plan_of(graph, gpus, gpus));
  for (const auto& [vertex, table] : tables) {
    for (const auto& entry : table.entries()) {
      EXPECT_EQ(entry.destination.structure, topology::DestinationKey::kOwnServer);
    }
  }
}

// Hops of the longest way.
int longest(const ChannelPlan& plan, topology::Location source, topology::Location destination) {
  int most = 0;
  const std::vector<Way> ways = plan.ways(source, destination).value();
  for (const Way& way : ways) {
    const auto managed = std::ranges::count_if(way.vertices, [&](topology::Location at) {
      return topology::is_managed(plan.graph().shape(at.server).kind(at.vertex));
    });
    most = std::max(most, static_cast<int>(managed) - 1);
  }
  return most;
}

// Follows every hop that rows for `destination` may take; counts the arrivals.
class Walker {
 public:
  Walker(const ChannelPlan& plan,
         const std::map<topology::Location, topology::ForwardingTable>& tables)
      : graph_(plan.graph()), tables_(tables) {}

  int arrivals(topology::Location from, topology::Location destination, int hops) {
    if (from == destination) return 1;
    const auto table = tables_.find(from);
    const topology::ForwardingTable::Entry* entry =
        table == tables_.end() ? nullptr : table->second.find(graph_, from.server, destination);
    if (entry == nullptr) {
      ADD_FAILURE() << "no entry at " << graph_.full_name(from);
      return 0;
    }
    int arrived = 0;
    for (const topology::NextHop& next : entry->next_hops) {
      for (const topology::HopPath& path : next.paths) {
        if (path.hops_left > hops) continue;
        expect_edges(from, destination.server, next, path);
        const topology::ServerIndex server =
            next.next.place == topology::Place::kHere ? from.server : destination.server;
        arrived += arrivals({server, next.next.vertex}, destination, hops - 1);
      }
    }
    EXPECT_GT(arrived, 0) << "rows stop at " << graph_.full_name(from) << " with " << hops;
    return arrived;
  }

 private:
  void expect_edges(topology::Location from,
                    topology::ServerIndex there,
                    const topology::NextHop& next,
                    const topology::HopPath& path) {
    std::vector<topology::PlacedVertex> steps = path.between;
    steps.push_back(next.next);
    topology::Location last = from;
    for (const topology::PlacedVertex step : steps) {
      const topology::ServerIndex server =
          step.place == topology::Place::kHere ? from.server : there;
      const bool crosses = server != last.server;
      const topology::VertexIndex start = crosses ? *graph_.shape(server).network() : last.vertex;
      EXPECT_NE(graph_.shape(server).find_edge(start, step.vertex), nullptr);
      last = {server, step.vertex};
    }
  }

  const topology::InfrastructureGraph& graph_;
  const std::map<topology::Location, topology::ForwardingTable>& tables_;
};

TEST(Forwarding, BringsRowsToTheirDestinationWhateverHopsTheyTake) {
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const topology::ServerParts one = random_server(random);
    const ForwardingGraphPtr graph = servers_of({one, random_server(random), one, one});
    std::vector<topology::Location> from, to;
    for (const topology::Location gpu : gpus_of(*graph)) {
      if (random() % 4 != 0) from.push_back(gpu);
      if (random() % 4 != 0) to.push_back(gpu);
    }
    if (from.empty() || to.empty()) continue;
    TransferOptimizer optimizer(graph);
    const Result<ForwardingPlanPtr> plan = optimizer.plan(from, to);
    if (!plan.ok()) {
      EXPECT_EQ(plan.error().code, ErrorCode::kNoPath);
      continue;
    }
    const auto tables = tables_of(*plan.value());
    Walker walker(*plan.value(), tables);
    for (const topology::Location source : from) {
      for (const topology::Location destination : to) {
        if (source == destination) continue;
        EXPECT_GT(walker.arrivals(source, destination, longest(*plan.value(), source, destination)),
                  0);
      }
    }
    for (const auto& [vertex, table] : tables) {
      EXPECT_EQ(table.find({topology::DestinationKey::kOwnServer, vertex.vertex}), nullptr);
    }
  }
}

}  // namespace
}  // namespace crossdock::control
