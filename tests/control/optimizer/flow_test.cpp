// Flows of one server: their value against Boost's, and the paths that carry them.
#include "control/optimizer/flow.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/optimizer/paper_servers.hpp"
#include "control/optimizer/whole_graph_flow.hpp"
#include "topology/graph.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::control {
namespace {

constexpr int kRandomServers = 300;
constexpr int kManyRelays = 16;  // more than a random server has managed vertices

double total(const std::vector<FlowPath>& flow) {
  double sum = 0;
  for (const FlowPath& path : flow) sum += path.flow_bytes_per_s;
  return sum;
}

std::string flow_names(const topology::ServerShape& shape, const FlowPath& path) {
  std::string text;
  for (const topology::VertexIndex vertex : path.vertices) {
    text += (text.empty() ? "" : " ") + shape.vertex(vertex).name;
  }
  return text;
}

std::vector<std::string> flow_names(const topology::ServerShape& shape,
                                    const std::vector<FlowPath>& flow) {
  std::vector<std::string> strings;
  for (const FlowPath& path : flow) strings.push_back(flow_names(shape, path));
  return strings;
}

std::vector<FlowPath> solve(const topology::ServerShape& shape,
                            Section section,
                            const std::vector<topology::VertexIndex>& from,
                            const std::vector<topology::VertexIndex>& to,
                            int relays_max) {
  return FlowSolver(shape, section, relays_max).solve(from, to);
}

topology::VertexIndex vertex(const topology::ServerShape& shape, const std::string& name) {
  return shape.find_vertex(name).value();
}

// Every step is an edge, nothing is visited twice, no edge carries more than it can, no path has too many relays.
void expect_valid(const topology::ServerShape& shape,
                  const std::vector<FlowPath>& flow,
                  int relays_max) {
  std::map<std::pair<topology::VertexIndex, topology::VertexIndex>, double> load;
  std::set<std::vector<topology::VertexIndex>> different;
  for (const FlowPath& path : flow) {
    EXPECT_GT(path.flow_bytes_per_s, 0);
    EXPECT_TRUE(different.insert(path.vertices).second);
    EXPECT_EQ(std::set(path.vertices.begin(), path.vertices.end()).size(), path.vertices.size());
    const auto relays = std::ranges::count_if(
        std::span(path.vertices).subspan(1, path.vertices.size() - 2),
        [&](topology::VertexIndex at) { return topology::is_managed(shape.kind(at)); });
    EXPECT_LE(relays, relays_max);
    for (size_t i = 1; i < path.vertices.size(); ++i) {
      ASSERT_NE(shape.find_edge(path.vertices[i - 1], path.vertices[i]), nullptr)
          << flow_names(shape, path);
      load[{path.vertices[i - 1], path.vertices[i]}] += path.flow_bytes_per_s;
    }
  }
  for (const auto& [ends, bytes_per_s] : load) {
    EXPECT_LE(bytes_per_s, shape.find_edge(ends.first, ends.second)->bytes_per_s);
  }
  EXPECT_TRUE(
      std::ranges::is_sorted(flow, {}, [](const FlowPath& p) { return p.vertices.size(); }));
}

bool leads_inside(const topology::ServerShape& shape, const topology::Edge& edge) {
  return shape.kind(edge.from) != topology::VertexKind::kNic &&
         shape.kind(edge.to) != topology::VertexKind::kNic;
}

TEST(Flow, GoesThroughTheSwitchThatTwoGpusShare) {
  const topology::ServerShape shape = topology::shape_of(figure_5a());
  const auto flow =
      solve(shape, Section::kInside, {vertex(shape, "gpu0")}, {vertex(shape, "gpu1")}, 2);
  EXPECT_THAT(flow_names(shape, flow), testing::ElementsAre("gpu0 pcie0 gpu1"));
}

TEST(Flow, RelaysThroughTheCpuBetweenTwoSwitches) {
  const topology::ServerShape shape = topology::shape_of(figure_5a());
  const auto flow =
      solve(shape, Section::kInside, {vertex(shape, "gpu0")}, {vertex(shape, "gpu2")}, 2);
  EXPECT_THAT(flow_names(shape, flow), testing::ElementsAre("gpu0 pcie0 cpu0 pcie1 gpu2"));
  EXPECT_TRUE(
      solve(shape, Section::kInside, {vertex(shape, "gpu0")}, {vertex(shape, "gpu2")}, 0).empty());
}

TEST(Flow, TakesBothPathsOfFigure5b) {
  const topology::ServerShape shape = topology::shape_of(figure_5b());
  const auto flow =
      solve(shape, Section::kInside, {vertex(shape, "gpu2")}, {vertex(shape, "gpu3")}, 2);
  EXPECT_THAT(flow_names(shape, flow),
              testing::ElementsAre("gpu2 nvswitch gpu3", "gpu2 pcie1 gpu3"));
  EXPECT_EQ(total(flow), 332e9);
}

TEST(Flow, ReachesEveryNicAndPrefersTheDirectOne) {
  const topology::ServerShape shape = topology::shape_of(figure_5b_with_nics());
  const topology::VertexIndex network = shape.network().value();
  const auto out = solve(shape, Section::kToNetwork, {vertex(shape, "gpu3")}, {network}, 2);
  ASSERT_EQ(out.size(), 8U);
  EXPECT_EQ(flow_names(shape, out[0]), "gpu3 nic3 network");
  EXPECT_EQ(total(out), 200e9);
  std::set<topology::VertexIndex> nics;
  for (const FlowPath& path : out) nics.insert(path.vertices[path.vertices.size() - 2]);
  EXPECT_EQ(nics.size(), 8U);
  const auto in = solve(shape, Section::kFromNetwork, {network}, {vertex(shape, "gpu3")}, 2);
  ASSERT_EQ(in.size(), 8U);
  EXPECT_EQ(flow_names(shape, in[0]), "network nic3 gpu3");
}

TEST(Flow, NeverUsesANicAsABridge) {
  topology::ServerParts parts = topology::two_socket_parts();
  std::erase_if(parts.edges, [](const topology::Edge& edge) {
    return edge.kind == topology::LinkKind::kSocket;
  });
  const topology::VertexIndex second = 3;  // gpu1
  parts.connect(4,
                second,
                topology::link_of(topology::LinkKind::kNicDirect, 16e9));  // nic0 reaches both GPUs
  const topology::ServerShape shape = topology::shape_of(std::move(parts));
  EXPECT_TRUE(
      solve(shape, Section::kInside, {vertex(shape, "gpu0")}, {vertex(shape, "gpu1")}, 2).empty());
}

TEST(Flow, TakesThePathBackThatStandsInTheWay) {
  // A shortest first path a-b-c-d would block both a-b-x-d and a-y-c-d; the flow needs the two of them.
  topology::ServerParts parts;
  const topology::VertexIndex a = parts.add(topology::VertexKind::kGpu, "a");
  const topology::VertexIndex d = parts.add(topology::VertexKind::kGpu, "d");
  std::vector<topology::VertexIndex> between;
  for (const char* name : {"b", "c", "x1", "x2", "y1", "y2"}) {
    between.push_back(parts.add(topology::VertexKind::kPcieSwitch, name));
  }
  const auto [b, c, x1, x2, y1, y2] =
      std::tuple(between[0], between[1], between[2], between[3], between[4], between[5]);
  for (const auto& [from, to] :
       std::vector<std::pair<topology::VertexIndex, topology::VertexIndex>>{
           {a, b}, {b, c}, {c, d}, {b, x1}, {x1, x2}, {x2, d}, {a, y1}, {y1, y2}, {y2, c}}) {
    topology::Edge edge = topology::pcie(10e9);
    edge.from = from;
    edge.to = to;
    parts.edges.push_back(edge);
  }
  const topology::ServerShape shape = topology::shape_of(std::move(parts));
  const auto flow = solve(shape, Section::kInside, {vertex(shape, "a")}, {vertex(shape, "d")}, 2);
  EXPECT_THAT(flow_names(shape, flow), testing::UnorderedElementsAre("a b x1 x2 d", "a y1 y2 c d"));
  expect_valid(shape, flow, 2);
}

TEST(Flow, PrefersTheWiderOfTwoShortestPaths) {
  topology::ServerParts parts = figure_5a();
  parts.edges.clear();
  for (const auto& [from, to, rate] :
       std::vector<std::tuple<topology::VertexIndex, topology::VertexIndex, double>>{
           {3, 1, 8e9}, {1, 4, 8e9}, {3, 2, 16e9}, {2, 4, 16e9}}) {
    topology::Edge edge = topology::pcie(rate);
    edge.from = from;
    edge.to = to;
    parts.edges.push_back(edge);
  }
  const topology::ServerShape shape = topology::shape_of(std::move(parts));
  const auto flow =
      solve(shape, Section::kInside, {vertex(shape, "gpu0")}, {vertex(shape, "gpu1")}, 2);
  EXPECT_THAT(flow_names(shape, flow), testing::ElementsAre("gpu0 pcie1 gpu1", "gpu0 pcie0 gpu1"));
}

TEST(Flow, EqualsBoostInsideRandomServers) {
  for (int seed = 0; seed < kRandomServers; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const auto graph = servers_of(random_server(random), 1);
    const topology::ServerShape& shape = graph->shape(0);
    const std::vector<topology::Location> gpus = gpus_of(*graph);
    const size_t cut = 1 + random() % (gpus.size() - 1);
    const std::span<const topology::Location> from = std::span(gpus).first(cut);
    const std::span<const topology::Location> to = std::span(gpus).subspan(cut);
    std::vector<topology::VertexIndex> sources, sinks;
    for (const topology::Location gpu : from) sources.push_back(gpu.vertex);
    for (const topology::Location gpu : to) sinks.push_back(gpu.vertex);
    const double most =
        whole_graph_flow(*graph, from, to, [&](topology::ServerIndex, const topology::Edge& edge) {
          return leads_inside(shape, edge);
        });
    const auto all = solve(shape, Section::kInside, sources, sinks, kManyRelays);
    expect_valid(shape, all, kManyRelays);
    EXPECT_EQ(total(all), most);
    const auto few = solve(shape, Section::kInside, sources, sinks, 2);
    expect_valid(shape, few, 2);
    EXPECT_LE(total(few), most);
    EXPECT_GT(total(few), 0);
  }
}

TEST(Flow, EqualsBoostToAndFromTheNetworkOfRandomServers) {
  for (int seed = 0; seed < kRandomServers; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const auto graph = servers_of(random_server(random), 1);
    const topology::ServerShape& shape = graph->shape(0);
    const topology::VertexIndex network = shape.network().value();
    const std::vector<topology::Location> outside = {{0, network}};
    std::vector<topology::Location> gpus = gpus_of(*graph);
    gpus.resize(1 + random() % gpus.size());
    std::vector<topology::VertexIndex> ends;
    for (const topology::Location gpu : gpus) ends.push_back(gpu.vertex);
    const auto all_edges = [](topology::ServerIndex, const topology::Edge&) { return true; };
    for (const int relays_max : {2, kManyRelays}) {
      const auto out = solve(shape, Section::kToNetwork, ends, {network}, relays_max);
      const auto in = solve(shape, Section::kFromNetwork, {network}, ends, relays_max);
      expect_valid(shape, out, relays_max);
      expect_valid(shape, in, relays_max);
      const double most_out = whole_graph_flow(*graph, gpus, outside, all_edges);
      const double most_in = whole_graph_flow(*graph, outside, gpus, all_edges);
      if (relays_max == kManyRelays) {
        EXPECT_EQ(total(out), most_out);
        EXPECT_EQ(total(in), most_in);
      }
      EXPECT_LE(total(out), most_out);
      EXPECT_LE(total(in), most_in);
    }
  }
}

}  // namespace
}  // namespace crossdock::control
