// See paper_servers.hpp.
#include "control/optimizer/paper_servers.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::control {
namespace {

std::vector<topology::VertexIndex> add_many(topology::ServerParts& parts,
                                            topology::VertexKind kind,
                                            const char* name,
                                            int count) {
  std::vector<topology::VertexIndex> added;
  for (int i = 0; i < count; ++i) added.push_back(parts.add(kind, fmt::format("{}{}", name, i)));
  return added;
}

int draw(std::mt19937_64& random, int from, int to) {
  return from + static_cast<int>(random() % static_cast<uint64_t>(to - from + 1));
}

topology::VertexIndex any_of(std::mt19937_64& random,
                             const std::vector<topology::VertexIndex>& vertices) {
  return vertices[random() % vertices.size()];
}

void join_all(topology::ServerParts& parts,
              std::mt19937_64& random,
              topology::LinkKind kind,
              topology::VertexIndex a,
              topology::VertexIndex b) {
  parts.connect(a, b, topology::link_of(kind, draw(random, 1, 6) * 8e9));
}

void add_nics(topology::ServerParts& parts,
              std::mt19937_64& random,
              const std::vector<topology::VertexIndex>& hosts,
              const std::vector<topology::VertexIndex>& gpus) {
  const topology::VertexIndex network = parts.add(topology::VertexKind::kNetwork, "network");
  for (const topology::VertexIndex nic :
       add_many(parts, topology::VertexKind::kNic, "nic", draw(random, 1, 3))) {
    join_all(parts, random, topology::LinkKind::kPcie, nic, any_of(random, hosts));
    join_all(parts, random, topology::LinkKind::kNetwork, nic, network);
    for (const topology::VertexIndex gpu : gpus) {
      if (draw(random, 0, 3) == 0)
        join_all(parts, random, topology::LinkKind::kNicDirect, nic, gpu);
    }
  }
}

}  // namespace

topology::ServerParts figure_5a() {
  topology::ServerParts parts;
  const topology::VertexIndex cpu = parts.add(topology::VertexKind::kCpu, "cpu0");
  const auto switches = add_many(parts, topology::VertexKind::kPcieSwitch, "pcie", 2);
  const auto gpus = add_many(parts, topology::VertexKind::kGpu, "gpu", 4);
  for (size_t i = 0; i < 2; ++i) parts.connect(cpu, switches[i], topology::pcie(16e9));
  for (size_t i = 0; i < 4; ++i) parts.connect(gpus[i], switches[i / 2], topology::pcie(16e9));
  return parts;
}

topology::ServerParts figure_5b() {
  topology::ServerParts parts;
  const auto cpus = add_many(parts, topology::VertexKind::kCpu, "cpu", 2);
  const auto switches = add_many(parts, topology::VertexKind::kPcieSwitch, "pcie", 4);
  const auto gpus = add_many(parts, topology::VertexKind::kGpu, "gpu", 8);
  const topology::VertexIndex nvswitch = parts.add(topology::VertexKind::kNvswitch, "nvswitch");
  parts.connect(cpus[0], cpus[1], topology::link_of(topology::LinkKind::kSocket, 64e9));
  for (size_t i = 0; i < 4; ++i) parts.connect(cpus[i / 2], switches[i], topology::pcie(32e9));
  for (size_t i = 0; i < 8; ++i) {
    parts.connect(gpus[i], switches[i / 2], topology::pcie(32e9));
    parts.connect(gpus[i], nvswitch, topology::nvlink(300e9, 12));
  }
  return parts;
}

topology::ServerParts figure_5b_with_nics() {
  topology::ServerParts parts = figure_5b();
  const topology::VertexIndex network = parts.add(topology::VertexKind::kNetwork, "network");
  const auto nics = add_many(parts, topology::VertexKind::kNic, "nic", 8);
  for (size_t i = 0; i < 8; ++i) {
    const auto pcie_switch = static_cast<topology::VertexIndex>(2 + i / 2);
    const auto gpu = static_cast<topology::VertexIndex>(6 + i);
    parts.connect(nics[i], pcie_switch, topology::pcie(32e9));
    parts.connect(nics[i], gpu, topology::link_of(topology::LinkKind::kNicDirect, 25e9));
    parts.connect(nics[i], network, topology::link_of(topology::LinkKind::kNetwork, 25e9));
  }
  return parts;
}

topology::ServerParts random_server(std::mt19937_64& random) {
  topology::ServerParts parts;
  const auto cpus = add_many(parts, topology::VertexKind::kCpu, "cpu", draw(random, 1, 2));
  const auto switches =
      add_many(parts, topology::VertexKind::kPcieSwitch, "pcie", draw(random, 0, 3));
  const auto gpus = add_many(parts, topology::VertexKind::kGpu, "gpu", draw(random, 2, 5));
  if (cpus.size() == 2) join_all(parts, random, topology::LinkKind::kSocket, cpus[0], cpus[1]);
  std::vector<topology::VertexIndex> hosts = cpus;
  for (const topology::VertexIndex pcie_switch : switches) {
    join_all(parts, random, topology::LinkKind::kPcie, pcie_switch, any_of(random, hosts));
    hosts.push_back(pcie_switch);
  }
  for (const topology::VertexIndex gpu : gpus) {
    join_all(parts, random, topology::LinkKind::kPcie, gpu, any_of(random, hosts));
  }
  for (size_t a = 0; a < gpus.size(); ++a) {
    for (size_t b = a + 1; b < gpus.size(); ++b) {
      if (draw(random, 0, 2) == 0)
        join_all(parts, random, topology::LinkKind::kNvlink, gpus[a], gpus[b]);
    }
  }
  if (draw(random, 0, 1) == 0) {
    const topology::VertexIndex nvswitch = parts.add(topology::VertexKind::kNvswitch, "nvswitch");
    for (const topology::VertexIndex gpu : gpus)
      join_all(parts, random, topology::LinkKind::kNvlink, gpu, nvswitch);
  }
  add_nics(parts, random, hosts, gpus);
  return parts;
}

std::shared_ptr<const topology::InfrastructureGraph> servers_of(
    const std::vector<topology::ServerParts>& parts) {
  auto graph = std::make_shared<topology::InfrastructureGraph>();
  for (size_t i = 0; i < parts.size(); ++i)
    topology::add(*graph, fmt::format("node{}", i), topology::shape_of(parts[i]));
  return graph;
}

std::shared_ptr<const topology::InfrastructureGraph> servers_of(const topology::ServerParts& parts,
                                                                int count) {
  return servers_of(std::vector<topology::ServerParts>(static_cast<size_t>(count), parts));
}

topology::Location at(const topology::InfrastructureGraph& graph, const std::string& name) {
  const Result<topology::Location> location = graph.find(name);
  CD_CHECK(location.ok(), "{}", location.error().message);
  return location.value();
}

std::vector<topology::Location> gpus_of(const topology::InfrastructureGraph& graph) {
  std::vector<topology::Location> gpus;
  for (topology::ServerIndex server = 0;
       server < static_cast<topology::ServerIndex>(graph.server_count());
       ++server) {
    const topology::VertexRange range = graph.shape(server).of_kind(topology::VertexKind::kGpu);
    for (topology::VertexIndex i = 0; i < range.count; ++i) {
      gpus.push_back({server, static_cast<topology::VertexIndex>(range.first + i)});
    }
  }
  return gpus;
}

std::string names_of(const topology::InfrastructureGraph& graph,
                     std::span<const topology::Location> vertices) {
  std::string names;
  for (const topology::Location vertex : vertices) {
    names += (names.empty() ? "" : " ") + graph.full_name(vertex);
  }
  return names;
}

}  // namespace crossdock::control
