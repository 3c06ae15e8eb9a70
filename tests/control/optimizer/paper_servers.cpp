// See paper_servers.hpp.
#include "control/optimizer/paper_servers.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "topology/small_servers.hpp"

namespace crossdock {
namespace {

std::vector<VertexIndex> add_many(ServerParts& parts,
                                  VertexKind kind,
                                  const char* name,
                                  int count) {
  std::vector<VertexIndex> added;
  for (int i = 0; i < count; ++i) added.push_back(parts.add(kind, fmt::format("{}{}", name, i)));
  return added;
}

int draw(std::mt19937_64& random, int from, int to) {
  return from + static_cast<int>(random() % static_cast<uint64_t>(to - from + 1));
}

VertexIndex any_of(std::mt19937_64& random, const std::vector<VertexIndex>& vertices) {
  return vertices[random() % vertices.size()];
}

void join_all(
    ServerParts& parts, std::mt19937_64& random, LinkKind kind, VertexIndex a, VertexIndex b) {
  parts.connect(a, b, link_of(kind, draw(random, 1, 6) * 8e9));
}

void add_nics(ServerParts& parts,
              std::mt19937_64& random,
              const std::vector<VertexIndex>& hosts,
              const std::vector<VertexIndex>& gpus) {
  const VertexIndex network = parts.add(VertexKind::kNetwork, "network");
  for (const VertexIndex nic : add_many(parts, VertexKind::kNic, "nic", draw(random, 1, 3))) {
    join_all(parts, random, LinkKind::kPcie, nic, any_of(random, hosts));
    join_all(parts, random, LinkKind::kNetwork, nic, network);
    for (const VertexIndex gpu : gpus) {
      if (draw(random, 0, 3) == 0) join_all(parts, random, LinkKind::kNicDirect, nic, gpu);
    }
  }
}

}  // namespace

ServerParts figure_5a() {
  ServerParts parts;
  const VertexIndex cpu = parts.add(VertexKind::kCpu, "cpu0");
  const auto switches = add_many(parts, VertexKind::kPcieSwitch, "pcie", 2);
  const auto gpus = add_many(parts, VertexKind::kGpu, "gpu", 4);
  for (size_t i = 0; i < 2; ++i) parts.connect(cpu, switches[i], pcie(16e9));
  for (size_t i = 0; i < 4; ++i) parts.connect(gpus[i], switches[i / 2], pcie(16e9));
  return parts;
}

ServerParts figure_5b() {
  ServerParts parts;
  const auto cpus = add_many(parts, VertexKind::kCpu, "cpu", 2);
  const auto switches = add_many(parts, VertexKind::kPcieSwitch, "pcie", 4);
  const auto gpus = add_many(parts, VertexKind::kGpu, "gpu", 8);
  const VertexIndex nvswitch = parts.add(VertexKind::kNvswitch, "nvswitch");
  parts.connect(cpus[0], cpus[1], link_of(LinkKind::kSocket, 64e9));
  for (size_t i = 0; i < 4; ++i) parts.connect(cpus[i / 2], switches[i], pcie(32e9));
  for (size_t i = 0; i < 8; ++i) {
    parts.connect(gpus[i], switches[i / 2], pcie(32e9));
    parts.connect(gpus[i], nvswitch, nvlink(300e9, 12));
  }
  return parts;
}

ServerParts figure_5b_with_nics() {
  ServerParts parts = figure_5b();
  const VertexIndex network = parts.add(VertexKind::kNetwork, "network");
  const auto nics = add_many(parts, VertexKind::kNic, "nic", 8);
  for (size_t i = 0; i < 8; ++i) {
    const auto pcie_switch = static_cast<VertexIndex>(2 + i / 2);
    const auto gpu = static_cast<VertexIndex>(6 + i);
    parts.connect(nics[i], pcie_switch, pcie(32e9));
    parts.connect(nics[i], gpu, link_of(LinkKind::kNicDirect, 25e9));
    parts.connect(nics[i], network, link_of(LinkKind::kNetwork, 25e9));
  }
  return parts;
}

ServerParts random_server(std::mt19937_64& random) {
  ServerParts parts;
  const auto cpus = add_many(parts, VertexKind::kCpu, "cpu", draw(random, 1, 2));
  const auto switches = add_many(parts, VertexKind::kPcieSwitch, "pcie", draw(random, 0, 3));
  const auto gpus = add_many(parts, VertexKind::kGpu, "gpu", draw(random, 2, 5));
  if (cpus.size() == 2) join_all(parts, random, LinkKind::kSocket, cpus[0], cpus[1]);
  std::vector<VertexIndex> hosts = cpus;
  for (const VertexIndex pcie_switch : switches) {
    join_all(parts, random, LinkKind::kPcie, pcie_switch, any_of(random, hosts));
    hosts.push_back(pcie_switch);
  }
  for (const VertexIndex gpu : gpus) {
    join_all(parts, random, LinkKind::kPcie, gpu, any_of(random, hosts));
  }
  for (size_t a = 0; a < gpus.size(); ++a) {
    for (size_t b = a + 1; b < gpus.size(); ++b) {
      if (draw(random, 0, 2) == 0) join_all(parts, random, LinkKind::kNvlink, gpus[a], gpus[b]);
    }
  }
  if (draw(random, 0, 1) == 0) {
    const VertexIndex nvswitch = parts.add(VertexKind::kNvswitch, "nvswitch");
    for (const VertexIndex gpu : gpus) join_all(parts, random, LinkKind::kNvlink, gpu, nvswitch);
  }
  add_nics(parts, random, hosts, gpus);
  return parts;
}

std::shared_ptr<const InfrastructureGraph> servers_of(const std::vector<ServerParts>& parts) {
  auto graph = std::make_shared<InfrastructureGraph>();
  for (size_t i = 0; i < parts.size(); ++i)
    add(*graph, fmt::format("node{}", i), shape_of(parts[i]));
  return graph;
}

std::shared_ptr<const InfrastructureGraph> servers_of(const ServerParts& parts, int count) {
  return servers_of(std::vector<ServerParts>(static_cast<size_t>(count), parts));
}

Location at(const InfrastructureGraph& graph, const std::string& name) {
  const Result<Location> found = graph.find(name);
  CD_CHECK(found.ok(), "{}", found.error().message);
  return found.value();
}

std::vector<Location> gpus_of(const InfrastructureGraph& graph) {
  std::vector<Location> gpus;
  for (ServerIndex server = 0; server < static_cast<ServerIndex>(graph.server_count()); ++server) {
    const VertexRange range = graph.shape(server).of_kind(VertexKind::kGpu);
    for (VertexIndex i = 0; i < range.count; ++i) {
      gpus.push_back({server, static_cast<VertexIndex>(range.first + i)});
    }
  }
  return gpus;
}

std::string names_of(const InfrastructureGraph& graph, std::span<const Location> vertices) {
  std::string names;
  for (const Location vertex : vertices) {
    names += (names.empty() ? "" : " ") + graph.full_name(vertex);
  }
  return names;
}

}  // namespace crossdock
