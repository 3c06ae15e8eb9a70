// The catalogue's machines are what their documents say.
#include "topology/catalogue.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/link_rates.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::topology {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

InfrastructureGraph machine(std::string_view name) {
  Result<InfrastructureGraph> graph = make_machine(name);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return graph.ok() ? std::move(graph.value()) : InfrastructureGraph();
}

double rate(const ServerShape& shape, std::string_view from, std::string_view to) {
  const Edge* edge =
      shape.find_edge(shape.find_vertex(from).value(), shape.find_vertex(to).value());
  return edge ? edge->bytes_per_s : 0;
}

// What leaves a vertex by links of one kind.
double out_rate(const ServerShape& shape, std::string_view name, LinkKind kind) {
  double sum = 0;
  for (const Edge& edge : shape.out_edges(shape.find_vertex(name).value())) {
    if (edge.kind == kind) sum += edge.bytes_per_s;
  }
  return sum;
}

TEST(LinkRates, FollowTheSpecifications) {
  EXPECT_NEAR(pcie_link(3, 16).bytes_per_s, 15.754e9, 1e6);
  EXPECT_NEAR(pcie_link(4, 16).bytes_per_s, 31.508e9, 1e6);
  EXPECT_NEAR(pcie_link(5, 16).bytes_per_s, 63.015e9, 1e6);
  EXPECT_NEAR(pcie_link(6, 16).bytes_per_s, 118e9, 1e6);
  EXPECT_DOUBLE_EQ(pcie_link(2, 4).bytes_per_s, 2e9);
  EXPECT_DOUBLE_EQ(nvlink_link(4, 18).bytes_per_s, 450e9);
  EXPECT_DOUBLE_EQ(gigabits_per_s(400), 50e9);
}

TEST(Catalogue, EveryEntryMakesAConnectedGraph) {
  std::set<std::string_view> names;
  for (const CatalogueEntry& entry : catalogue()) {
    SCOPED_TRACE(entry.name);
    EXPECT_TRUE(names.insert(entry.name).second);
    EXPECT_FALSE(entry.summary.empty());
    EXPECT_FALSE(entry.source.empty());
    EXPECT_EQ(find_machine(entry.name), &entry);
    const InfrastructureGraph graph = machine(entry.name);
    EXPECT_EQ(graph.server_count(), entry.servers);
    EXPECT_EQ(graph.shape_count(), 1);
    EXPECT_EQ(graph.has_network(), entry.has_network);
    const ServerShape& shape = graph.shape(0);
    std::vector<bool> is_reached(static_cast<size_t>(shape.vertex_count()));
    std::vector<VertexIndex> open = {0};
    is_reached[0] = true;
    while (!open.empty()) {
      const VertexIndex from = open.back();
      open.pop_back();
      for (const Edge& edge : shape.out_edges(from)) {
        const Edge* back = shape.find_edge(edge.to, edge.from);
        ASSERT_NE(back, nullptr);
        EXPECT_EQ(back->bytes_per_s, edge.bytes_per_s);
        if (!is_reached[edge.to]) open.push_back(edge.to);
        is_reached[edge.to] = true;
      }
    }
    EXPECT_EQ(std::ranges::count(is_reached, false), 0);
  }
}

TEST(Catalogue, EveryV100UsesItsSixLinks) {
  for (const char* name : {"dgx-1v", "dgx-2", "figure-2f"}) {
    const InfrastructureGraph graph = machine(name);
    for (const Vertex& vertex : graph.shape(0).vertices()) {
      if (vertex.kind != VertexKind::kGpu) continue;
      EXPECT_DOUBLE_EQ(out_rate(graph.shape(0), vertex.name, LinkKind::kNvlink), 150e9) << name;
    }
  }
}

TEST(Catalogue, DgxA100HasFigure5bAndTwoNicsPerSwitch) {
  const InfrastructureGraph plain = machine("figure-2g");
  EXPECT_EQ(plain.vertex_count(), 15U);  // v0 to v14
  const InfrastructureGraph graph = machine("dgx-a100");
  const ServerShape& shape = graph.shape(0);
  EXPECT_DOUBLE_EQ(rate(shape, "gpu2", "nvswitch"), 300e9);
  EXPECT_GT(rate(shape, "gpu2", "pcie1"), 0);
  EXPECT_GT(rate(shape, "gpu3", "pcie1"), 0);
  EXPECT_EQ(rate(shape, "gpu4", "pcie1"), 0);
  EXPECT_GT(rate(shape, "nic2", "gpu3"), 0);
  EXPECT_EQ(rate(shape, "nic2", "gpu4"), 0);
  EXPECT_DOUBLE_EQ(rate(shape, "nic7", "network"), 25e9);
  EXPECT_EQ(shape.vertex(shape.find_vertex("gpu5").value()).numa_node, 1);
}

TEST(Catalogue, Figure2iIsThePapersScaleOutExample) {
  const InfrastructureGraph graph = machine("figure-2i");
  EXPECT_EQ(graph.vertex_count(), 17U);  // v0 to v16
  for (const char* side : {"0", "1"}) {
    const auto name = [&](const char* stem) { return fmt::format("{}{}", stem, side); };
    const ServerShape& shape = graph.shape(0);
    for (const char* end : {"cpu", "gpu", "nic"}) {
      EXPECT_GT(rate(shape, name(end), name("pcie")), 0) << end;
    }
    EXPECT_GT(rate(shape, name("nic"), name("gpu")), 0);
    EXPECT_DOUBLE_EQ(rate(shape, name("nic"), "network"), 12.5e9);
  }
}

TEST(Catalogue, TestbedsHaveTheRatesOfTable5) {
  EXPECT_DOUBLE_EQ(rate(machine("testbed-2").shape(0), "gpu0", "gpu3"), 150e9);
  const InfrastructureGraph graph = machine("testbed-3");
  EXPECT_EQ(graph.count_of(VertexKind::kGpu), 12U);
  double network = 0;
  for (const char* nic : {"nic0", "nic1", "nic2", "nic3"})
    network += rate(graph.shape(0), nic, "network");
  EXPECT_DOUBLE_EQ(network, 100e9);
  EXPECT_EQ(machine("topo-4").count_of(VertexKind::kGpu), 6U);
  EXPECT_EQ(machine("topo-4").count_of(VertexKind::kNic), 8U);
  EXPECT_EQ(machine("topo-5").count_of(VertexKind::kNic), 2U);
}

TEST(Catalogue, CountsServers) {
  EXPECT_EQ(machine("dgx-a100:13").count_of(VertexKind::kGpu), 104U);
  const InfrastructureGraph large = machine("superpod-h100:2048");
  EXPECT_EQ(large.count_of(VertexKind::kGpu), 16384U);
  EXPECT_LT(large.memory_bytes(), 1 << 20);
  EXPECT_EQ(large.shape(7).vertex(large.shape(7).find_vertex("nic5").value()).rail, 5);
}

TEST(Catalogue, RefusesWhatItDoesNotHave) {
  const auto refusal = [](std::string_view name) { return make_machine(name).error().message; };
  EXPECT_THAT(refusal("dgx-a10"), HasSubstr("did you mean 'dgx-a100'?"));
  EXPECT_THAT(refusal("#"), HasSubstr("it has dgx-1v, dgx-2"));
  EXPECT_THAT(refusal("superpod:128"), EndsWith("it has superpod-a100, superpod-h100"));
  EXPECT_THAT(refusal("dgx-a100:0"), HasSubstr("from 1 to 65536"));
  EXPECT_THAT(refusal("dgx-a100:"), HasSubstr("from 1 to 65536"));
  EXPECT_THAT(refusal("dgx-a100:2x"), HasSubstr("write dgx-a100:1"));
  EXPECT_THAT(refusal("figure-2a:2"), HasSubstr("one server without a network"));
}

}  // namespace
}  // namespace crossdock::topology
