// Simplification, validation and the infrastructure made of shapes.
#include "topology/graph.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/small_servers.hpp"

namespace crossdock::topology {
namespace {

using ::testing::HasSubstr;

std::string refusal(ServerParts parts) {
  const Result<ServerShape> shape = make_shape(std::move(parts));
  if (shape.ok()) return "";
  EXPECT_EQ(shape.error().code, ErrorCode::kInvalidTopology);
  return shape.error().message;
}

TEST(ServerShape, NvswitchesBecomeOneVertexAndTheirLinksOneEdge) {
  ServerParts parts;
  const VertexIndex gpu = parts.add(VertexKind::kGpu, "gpu0");
  const VertexIndex a = parts.add(VertexKind::kNvswitch, "nvswitch0");
  const VertexIndex b = parts.add(VertexKind::kNvswitch, "nvswitch1");
  parts.connect(gpu, a, nvlink(50e9, 2));
  parts.connect(gpu, b, nvlink(25e9, 1));
  parts.connect(a, b, nvlink(25e9, 1));
  const ServerShape shape = shape_of(std::move(parts));
  ASSERT_EQ(shape.vertex_count(), 2);
  ASSERT_EQ(shape.edges().size(), 2U);
  const Edge* up = shape.find_edge(0, 1);
  ASSERT_NE(up, nullptr);
  EXPECT_EQ(up->bytes_per_s, 75e9);
  EXPECT_EQ(up->width, 3);
}

TEST(ServerShape, ParallelLinksAddUpPerDirection) {
  ServerParts parts;
  const VertexIndex a = parts.add(VertexKind::kGpu, "gpu0");
  const VertexIndex b = parts.add(VertexKind::kGpu, "gpu1");
  Edge link = nvlink(25e9, 1);
  link.latency_s = 2e-6;
  parts.connect(a, b, link);
  link.latency_s = 1e-6;
  link.from = a;
  link.to = b;
  parts.edges.push_back(link);  // one direction only
  const ServerShape shape = shape_of(std::move(parts));
  EXPECT_EQ(shape.find_edge(0, 1)->bytes_per_s, 50e9);
  EXPECT_EQ(shape.find_edge(0, 1)->latency_s, 1e-6);
  EXPECT_EQ(shape.find_edge(1, 0)->bytes_per_s, 25e9);
}

TEST(ServerShape, AMergedEdgeIsOfTheWidestKind) {
  ServerParts parts;
  const VertexIndex cpu = parts.add(VertexKind::kCpu, "cpu0");
  const VertexIndex gpu = parts.add(VertexKind::kGpu, "gpu0");
  parts.connect(cpu, gpu, pcie(16e9));
  parts.connect(cpu, gpu, nvlink(75e9, 3));
  const ServerShape shape = shape_of(std::move(parts));
  EXPECT_EQ(shape.find_edge(0, 1)->kind, LinkKind::kNvlink);
  EXPECT_EQ(shape.find_edge(0, 1)->bytes_per_s, 91e9);
}

TEST(ServerShape, NicsStayApart) {
  const ServerShape shape = two_sockets();
  EXPECT_EQ(shape.of_kind(VertexKind::kNic).count, 2);
  EXPECT_EQ(shape.of_kind(VertexKind::kDrive).count, 0);
  EXPECT_EQ(shape.network(), VertexIndex{8});
}

TEST(ServerShape, KindsStandSideBySideInNaturalOrder) {
  ServerParts parts;
  for (int i = 11; i >= 0; --i) parts.add(VertexKind::kGpu, fmt::format("gpu{}", i));
  parts.add(VertexKind::kCpu, "cpu0");
  const ServerShape shape = shape_of(std::move(parts));
  EXPECT_EQ(shape.vertex(0).name, "cpu0");
  const VertexRange gpus = shape.of_kind(VertexKind::kGpu);
  EXPECT_EQ(gpus.first, 1);
  EXPECT_EQ(gpus.count, 12);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(shape.vertex(static_cast<VertexIndex>(1 + i)).name, fmt::format("gpu{}", i));
  }
}

TEST(ServerShape, DoesNotDependOnTheOrderOfItsParts) {
  const ServerShape plain = shape_of(two_socket_parts());
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(shape_of(shuffled(two_socket_parts(), random)), plain) << "round " << round;
  }
}

TEST(ServerShape, EdgesLeaveInAscendingOrder) {
  const ServerShape shape = two_sockets();
  size_t seen = 0;
  for (int v = 0; v < shape.vertex_count(); ++v) {
    const auto from = static_cast<VertexIndex>(v);
    EXPECT_EQ(shape.out_begin(from), seen);
    for (const Edge& edge : shape.out_edges(from)) {
      EXPECT_EQ(edge.from, from);
      EXPECT_EQ(shape.find_edge(from, edge.to), &edge);
      ++seen;
    }
  }
  EXPECT_EQ(seen, shape.edges().size());
}

TEST(ServerShape, StructureIgnoresNamesAndAddresses) {
  ServerParts renamed = two_socket_parts();
  for (Vertex& vertex : renamed.vertices) {
    vertex.bus_id = "0000:01:00.0";
    vertex.name = "the " + vertex.name;
  }
  const ServerShape a = two_sockets();
  const ServerShape b = shape_of(std::move(renamed));
  EXPECT_NE(a, b);
  EXPECT_TRUE(same_structure(a, b));
  ServerParts slower = two_socket_parts();
  slower.edges[0].bytes_per_s /= 2;
  EXPECT_FALSE(same_structure(a, shape_of(std::move(slower))));
}

TEST(ServerShape, RefusesWhatIsNoServer) {
  EXPECT_THAT(refusal({}), HasSubstr("needs a CPU or a GPU"));
  ServerParts parts = two_socket_parts();
  parts.vertices[1].name = parts.vertices[0].name;
  EXPECT_THAT(refusal(parts), HasSubstr("two vertices of a server are called 'cpu0'"));
  parts.vertices[1].name = "";
  EXPECT_THAT(refusal(parts), HasSubstr("names have 1 to 128 bytes"));
  parts.vertices[1].name = "a/b";
  EXPECT_THAT(refusal(parts), HasSubstr("no '/'"));
  parts = two_socket_parts();
  parts.add(VertexKind::kNetwork, "another");
  EXPECT_THAT(refusal(parts), HasSubstr("2 vertices of kind network"));
  parts = two_socket_parts();
  parts.vertices[0].memory_bytes = -1;
  EXPECT_THAT(refusal(parts), HasSubstr("'cpu0' has -1 bytes"));
}

TEST(ServerShape, RefusesEdgesThatCannotBe) {
  const auto with = [](auto change) {
    ServerParts parts = two_socket_parts();
    change(parts.edges[0]);
    return refusal(std::move(parts));
  };
  EXPECT_THAT(with([](Edge& e) { e.to = 99; }), HasSubstr("there are only 9"));
  EXPECT_THAT(with([](Edge& e) { e.to = e.from; }), HasSubstr("to itself"));
  EXPECT_THAT(with([](Edge& e) { e.kind = LinkKind::kNetwork; }), HasSubstr("cannot join the cpu"));
  EXPECT_THAT(with([](Edge& e) { e.bytes_per_s = 0; }), HasSubstr("capacity of 0 bytes/s"));
  EXPECT_THAT(with([](Edge& e) { e.bytes_per_s = -1; }), HasSubstr("capacity of -1"));
  EXPECT_THAT(with([](Edge& e) { e.bytes_per_s = std::numeric_limits<double>::quiet_NaN(); }),
              HasSubstr("capacity of nan"));
  EXPECT_THAT(with([](Edge& e) { e.bytes_per_s = 1e16; }), HasSubstr("at most 1e+15"));
  EXPECT_THAT(with([](Edge& e) { e.latency_s = -1e-6; }), HasSubstr("latency of -1e-06"));
  EXPECT_THAT(with([](Edge& e) { e.width = -2; }), HasSubstr("width of -2"));
}

TEST(ServerShape, RefusesMoreThanItCanName) {
  ServerParts parts;
  for (int i = 0; i <= kServerVerticesMax; ++i) parts.add(VertexKind::kGpu, fmt::format("{}", i));
  EXPECT_THAT(refusal(parts), HasSubstr("4097 vertices; the most is 4096"));
  parts = two_socket_parts();
  parts.edges.assign(kServerEdgesMax + 1, parts.edges[0]);
  EXPECT_THAT(refusal(parts), HasSubstr("65537 edges; the most is 65536"));
}

TEST(InfrastructureGraph, SharesShapesAndCountsTheNetworkOnce) {
  InfrastructureGraph graph;
  for (int i = 0; i < 4; ++i) add(graph, fmt::format("node{}", i), two_sockets());
  EXPECT_EQ(graph.shape_count(), 1);
  EXPECT_EQ(graph.vertex_count(), 4U * 8U + 1U);
  EXPECT_EQ(graph.count_of(VertexKind::kGpu), 8U);
  EXPECT_EQ(graph.count_of(VertexKind::kNetwork), 1U);
  EXPECT_EQ(graph.global({3, 2}), 3U * 8U + 2U);
  EXPECT_EQ(graph.global({3, *graph.shape(3).network()}), graph.network());
}

TEST(InfrastructureGraph, SharesStructuresOfDifferentShapes) {
  InfrastructureGraph graph;
  add(graph, "a", two_sockets());
  ServerParts other = two_socket_parts();
  other.vertices[2].bus_id = "0000:81:00.0";
  add(graph, "b", shape_of(std::move(other)));
  EXPECT_EQ(graph.shape_count(), 2);
  EXPECT_EQ(graph.structure_of(1), graph.structure_of(0));
}

TEST(InfrastructureGraph, FindsVerticesByName) {
  InfrastructureGraph graph;
  add(graph, "node0", two_sockets());
  EXPECT_EQ(graph.find("gpu1").value(), (Location{0, 3}));
  EXPECT_EQ(graph.full_name({0, 3}), "gpu1");
  add(graph, "node1", two_sockets());
  EXPECT_EQ(graph.find("node1/gpu1").value(), (Location{1, 3}));
  EXPECT_EQ(graph.full_name({1, 3}), "node1/gpu1");
  EXPECT_THAT(graph.find("gpu1").error().message, HasSubstr("write server/name, as in node0/gpu1"));
  EXPECT_THAT(graph.find("nod1/gpu1").error().message, HasSubstr("did you mean 'node"));
  EXPECT_THAT(graph.find("node1/gpu7").error().message, HasSubstr("did you mean 'gpu"));
}

TEST(InfrastructureGraph, RefusesServersThatCannotMeet) {
  InfrastructureGraph graph;
  add(graph, "a", two_sockets());
  const auto shape = std::make_shared<const ServerShape>(two_sockets());
  EXPECT_THAT(graph.add_server("a", shape).error().message, HasSubstr("two servers called 'a'"));
  EXPECT_THAT(graph.add_server("", shape).error().message, HasSubstr("1 to 128 bytes"));
  EXPECT_THAT(graph.add_server("x/y", shape).error().message, HasSubstr("no '/'"));
  ServerParts isolated;
  isolated.add(VertexKind::kGpu, "gpu0");
  const auto alone = std::make_shared<const ServerShape>(shape_of(std::move(isolated)));
  EXPECT_THAT(graph.add_server("b", alone).error().message,
              HasSubstr("server 'b' has no link to the network, so 'a' cannot reach it"));
  InfrastructureGraph single;
  add(single, "b", *alone);
  EXPECT_FALSE(single.has_network());
  EXPECT_THAT(single.add_server("a", shape).error().message,
              HasSubstr("server 'b' has no link to the network, so 'a' cannot reach it"));
  EXPECT_EQ(single.server_count(), 1);
}

TEST(InfrastructureGraph, MemoryIsLinearInServers) {
  const auto bytes = [](int servers) {
    InfrastructureGraph graph;
    const auto shape = std::make_shared<const ServerShape>(two_sockets());
    for (int i = 0; i < servers; ++i) {
      EXPECT_TRUE(graph.add_server(fmt::format("node{:05}", i), shape).ok());
    }
    return graph.memory_bytes();
  };
  EXPECT_LT(bytes(2048), bytes(0) + 2048 * 400);
  EXPECT_LT(bytes(16384), bytes(0) + 16384 * 400);
}

}  // namespace
}  // namespace crossdock::topology
