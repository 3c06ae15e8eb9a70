// See small_servers.hpp.
#include "topology/small_servers.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/check.hpp"

namespace crossdock::topology {

Edge link_of(LinkKind kind, double bytes_per_s) {
  Edge edge;
  edge.kind = kind;
  edge.bytes_per_s = bytes_per_s;
  return edge;
}

Edge pcie(double bytes_per_s) { return link_of(LinkKind::kPcie, bytes_per_s); }

Edge nvlink(double bytes_per_s, int links) {
  Edge edge = link_of(LinkKind::kNvlink, bytes_per_s);
  edge.width = links;
  edge.full_width = links;
  return edge;
}

ServerParts two_socket_parts() {
  ServerParts parts;
  std::vector<VertexIndex> cpu, gpu, nic, pci;
  for (int i = 0; i < 2; ++i) cpu.push_back(parts.add(VertexKind::kCpu, fmt::format("cpu{}", i)));
  for (int i = 0; i < 2; ++i) gpu.push_back(parts.add(VertexKind::kGpu, fmt::format("gpu{}", i)));
  for (int i = 0; i < 2; ++i) nic.push_back(parts.add(VertexKind::kNic, fmt::format("nic{}", i)));
  for (int i = 0; i < 2; ++i) {
    pci.push_back(parts.add(VertexKind::kPcieSwitch, fmt::format("pcie{}", i)));
  }
  const VertexIndex network = parts.add(VertexKind::kNetwork, "network");
  parts.connect(cpu[0], cpu[1], link_of(LinkKind::kSocket, 20e9));
  for (size_t i = 0; i < 2; ++i) {
    parts.connect(cpu[i], pci[i], pcie(16e9));
    parts.connect(pci[i], gpu[i], pcie(16e9));
    parts.connect(pci[i], nic[i], pcie(16e9));
    parts.connect(nic[i], gpu[i], link_of(LinkKind::kNicDirect, 16e9));
    parts.connect(nic[i], network, link_of(LinkKind::kNetwork, 12.5e9));
  }
  return parts;
}

ServerShape shape_of(ServerParts parts) {
  Result<ServerShape> shape = make_shape(std::move(parts));
  CD_CHECK(shape.ok(), "{}", shape.error().message);
  return std::move(shape.value());
}

ServerShape two_sockets() { return shape_of(two_socket_parts()); }

void add(InfrastructureGraph& graph, std::string name, ServerShape shape) {
  const auto added =
      graph.add_server(std::move(name), std::make_shared<const ServerShape>(std::move(shape)));
  CD_CHECK(added.ok(), "{}", added.error().message);
}

ServerParts shuffled(ServerParts parts, std::mt19937_64& random) {
  std::vector<VertexIndex> place(parts.vertices.size());
  std::iota(place.begin(), place.end(), VertexIndex{0});
  std::ranges::shuffle(place, random);
  ServerParts moved;
  moved.vertices.resize(parts.vertices.size());
  for (size_t i = 0; i < place.size(); ++i) moved.vertices[place[i]] = parts.vertices[i];
  moved.edges = parts.edges;
  for (Edge& edge : moved.edges) {
    edge.from = place[edge.from];
    edge.to = place[edge.to];
  }
  std::ranges::shuffle(moved.edges, random);
  return moved;
}

}  // namespace crossdock::topology
