// Forwarding tables: the paper's entry, merging, and that rows arrive whichever hops they take.
#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/optimizer/paper_servers.hpp"
#include "control/optimizer/transfer_optimizer.hpp"
#include "topology/small_servers.hpp"

namespace crossdock {
namespace {

using ForwardingGraphPtr = std::shared_ptr<const InfrastructureGraph>;
using ForwardingPlanPtr = std::shared_ptr<const ChannelPlan>;

ForwardingPlanPtr forwarding_plan_of(const ForwardingGraphPtr& graph,
                                     const std::vector<Location>& from,
                                     const std::vector<Location>& to) {
  TransferOptimizer optimizer(graph);
  Result<ForwardingPlanPtr> plan = optimizer.plan(from, to);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return plan.value();
}

// All tables of a plan, by vertex.
std::map<Location, ForwardingTable> tables_of(const ChannelPlan& plan) {
  std::map<Location, ForwardingTable> tables;
  for (const ServerIndex server : plan.servers()) {
    auto of_server = plan.tables(server);
    EXPECT_TRUE(of_server.ok());
    for (auto& [vertex, table] : of_server.value()) {
      tables.emplace(Location{server, vertex}, std::move(table));
    }
  }
  return tables;
}

// "next via a b (hops left) | ..." of one entry; vertices of the destination's server in brackets.
std::string text_of(const ServerShape& shape, const ForwardingTable::Entry& entry) {
  const auto name = [&](PlacedVertex placed) {
    const std::string& plain = shape.vertex(placed.vertex).name;
    return placed.place == Place::kHere ? plain : "[" + plain + "]";
  };
  std::string text;
  for (const NextHop& hop : entry.next_hops) {
    for (const HopPath& path : hop.paths) {
      text += (text.empty() ? "" : " | ") + name(hop.next) + " via";
      for (const PlacedVertex vertex : path.between) text += " " + name(vertex);
      text += " (" + std::to_string(path.hops_left) + ")";
    }
  }
  return text;
}

TEST(Forwarding, HoldsTheEntryOfFigure5c) {
  const ForwardingGraphPtr graph = servers_of(two_socket_parts(), 2);
  const Location v6 = at(*graph, "node0/gpu0");
  const Location v14 = at(*graph, "node1/gpu0");
  const ForwardingPlanPtr plan = forwarding_plan_of(graph, {v6}, {v14});
  const auto tables = tables_of(*plan);
  const ServerShape& shape = graph->shape(0);
  const auto entry = [&](const char* vertex) {
    const Location place = at(*graph, vertex);
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
  const Location from = at(*graph, "gpu2");
  const Location to = at(*graph, "gpu3");
  const auto tables = tables_of(*forwarding_plan_of(graph, {from, at(*graph, "gpu0")}, {to}));
  const ForwardingTable::Entry& entry = *tables.at(from).find(*graph, 0, to);
  ASSERT_EQ(entry.next_hops.size(), 1U);
  EXPECT_EQ(text_of(graph->shape(0), entry), "gpu3 via nvswitch (1) | gpu3 via pcie1 (1)");
  EXPECT_EQ(entry.next_hops[0].paths[0].bytes_per_s, 300e9);
  EXPECT_EQ(entry.next_hops[0].paths[1].bytes_per_s, 32e9);
}

TEST(Forwarding, NamesNoServerOfAStructureThatHasOnlyOne) {
  const ForwardingGraphPtr graph = servers_of({two_socket_parts(), figure_5b_with_nics()});
  const std::vector<Location> gpus = {at(*graph, "node0/gpu0"), at(*graph, "node0/gpu1")};
  const auto tables = tables_of(*forwarding_plan_of(graph, gpus, gpus));
  for (const auto& [vertex, table] : tables) {
    for (const auto& entry : table.entries()) {
      EXPECT_EQ(entry.destination.structure, DestinationKey::kOwnServer);
    }
  }
}

// Hops of the longest way.
int longest(const ChannelPlan& plan, Location source, Location destination) {
  int most = 0;
  const std::vector<Way> ways = plan.ways(source, destination).value();
  for (const Way& way : ways) {
    const auto managed = std::ranges::count_if(way.vertices, [&](Location at) {
      return is_managed(plan.graph().shape(at.server).kind(at.vertex));
    });
    most = std::max(most, static_cast<int>(managed) - 1);
  }
  return most;
}

// Follows every hop that rows for `destination` may take; counts the arrivals.
class Walker {
 public:
  Walker(const ChannelPlan& plan, const std::map<Location, ForwardingTable>& tables)
      : graph_(plan.graph()), tables_(tables) {}

  int arrivals(Location from, Location destination, int hops) {
    if (from == destination) return 1;
    const auto table = tables_.find(from);
    const ForwardingTable::Entry* entry =
        table == tables_.end() ? nullptr : table->second.find(graph_, from.server, destination);
    if (entry == nullptr) {
      ADD_FAILURE() << "no entry at " << graph_.full_name(from);
      return 0;
    }
    int arrived = 0;
    for (const NextHop& next : entry->next_hops) {
      for (const HopPath& path : next.paths) {
        if (path.hops_left > hops) continue;
        expect_edges(from, destination.server, next, path);
        const ServerIndex server =
            next.next.place == Place::kHere ? from.server : destination.server;
        arrived += arrivals({server, next.next.vertex}, destination, hops - 1);
      }
    }
    EXPECT_GT(arrived, 0) << "rows stop at " << graph_.full_name(from) << " with " << hops;
    return arrived;
  }

 private:
  void expect_edges(Location from, ServerIndex there, const NextHop& next, const HopPath& path) {
    std::vector<PlacedVertex> steps = path.between;
    steps.push_back(next.next);
    Location last = from;
    for (const PlacedVertex step : steps) {
      const ServerIndex server = step.place == Place::kHere ? from.server : there;
      const bool crosses = server != last.server;
      const VertexIndex start = crosses ? *graph_.shape(server).network() : last.vertex;
      EXPECT_NE(graph_.shape(server).find_edge(start, step.vertex), nullptr);
      last = {server, step.vertex};
    }
  }

  const InfrastructureGraph& graph_;
  const std::map<Location, ForwardingTable>& tables_;
};

TEST(Forwarding, BringsRowsToTheirDestinationWhateverHopsTheyTake) {
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const ServerParts one = random_server(random);
    const ForwardingGraphPtr graph = servers_of({one, random_server(random), one, one});
    std::vector<Location> from, to;
    for (const Location gpu : gpus_of(*graph)) {
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
    for (const Location source : from) {
      for (const Location destination : to) {
        if (source == destination) continue;
        EXPECT_GT(walker.arrivals(source, destination, longest(*plan.value(), source, destination)),
                  0);
      }
    }
    for (const auto& [vertex, table] : tables) {
      EXPECT_EQ(table.find({DestinationKey::kOwnServer, vertex.vertex}), nullptr);
    }
  }
}

}  // namespace
}  // namespace crossdock
