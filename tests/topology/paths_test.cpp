// Path sets and forwarding tables hold what was put into them; the example is that of the MGI paper, section 4.4.
#include "topology/paths.hpp"

#include <gtest/gtest.h>

#include "topology/small_servers.hpp"

namespace crossdock::topology {
namespace {

VertexIndex at(const ServerShape& shape, std::string_view name) {
  return shape.find_vertex(name).value();
}

std::vector<VertexIndex> walk(const ServerShape& shape, std::vector<std::string> names) {
  std::vector<VertexIndex> vertices;
  for (const std::string& name : names) vertices.push_back(at(shape, name));
  return vertices;
}

TEST(PathSet, KnowsTheNarrowestEdgeAndTheSumOfLatencies) {
  ServerParts parts = two_socket_parts();
  for (Edge& edge : parts.edges) edge.latency_s = 1e-6;
  const ServerShape shape = shape_of(std::move(parts));
  PathSet paths;
  const auto direct = walk(shape, {"gpu0", "nic0", "network"});
  const auto around = walk(shape, {"gpu0", "pcie0", "cpu0", "cpu1", "pcie1", "nic1", "network"});
  paths.add(shape, direct);
  paths.add(shape, around);
  ASSERT_EQ(paths.size(), 2);
  EXPECT_TRUE(std::ranges::equal(paths[0].vertices, direct));
  EXPECT_TRUE(std::ranges::equal(paths[1].vertices, around));
  EXPECT_EQ(paths[0].bytes_per_s, 12.5e9);
  EXPECT_DOUBLE_EQ(paths[0].latency_s, 2e-6);
  EXPECT_DOUBLE_EQ(paths[1].latency_s, 6e-6);
}

TEST(PathSetDeathTest, RefusesAStepThatIsNoEdge) {
  const ServerShape shape = two_sockets();
  PathSet paths;
  EXPECT_DEATH(paths.add(shape, walk(shape, {"gpu0", "gpu1"})), "step 1 from 2 to 3");
}

TEST(ForwardingTable, MergesByDestinationThenByNextHop) {
  const ServerShape shape = two_sockets();
  const DestinationKey destination{0, at(shape, "gpu0")};
  const PlacedVertex cpu{Place::kHere, at(shape, "cpu0")};
  const PlacedVertex there{Place::kThere, at(shape, "gpu0")};
  const HopPath by_switch{{{Place::kHere, at(shape, "pcie0")}}, 16e9, 0};
  const HopPath by_nic{{{Place::kHere, at(shape, "nic0")},
                        {Place::kHere, at(shape, "network")},
                        {Place::kThere, at(shape, "nic0")}},
                       12.5e9,
                       0};
  ForwardingTable table;
  table.add(destination, there, by_nic);
  table.add(destination, cpu, by_switch);
  table.add(destination, there, by_nic);
  ASSERT_EQ(table.entries().size(), 1U);
  const ForwardingTable::Entry* entry = table.find(destination);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->next_hops, (std::vector<NextHop>{{cpu, {by_switch}}, {there, {by_nic}}}));
  EXPECT_EQ(table.find({DestinationKey::kOwnServer, destination.vertex}), nullptr);
}

TEST(ForwardingTable, OneTableServesAllServersOfAShape) {
  InfrastructureGraph graph;
  for (const char* name : {"a", "b", "c"}) add(graph, name, two_sockets());
  const VertexIndex gpu = at(graph.shape(0), "gpu0");
  ForwardingTable table;
  table.add({0, gpu}, {Place::kThere, gpu}, {});
  EXPECT_EQ(table.find(graph, 0, {1, gpu}), table.find(graph, 2, {0, gpu}));
  EXPECT_NE(table.find(graph, 0, {1, gpu}), nullptr);
  EXPECT_EQ(table.find(graph, 1, {1, gpu}), nullptr);
}

}  // namespace
}  // namespace crossdock::topology
