#include "topology/catalogue_servers.hpp"

#include <array>

#include <fmt/format.h>

#include "topology/link_rates.hpp"

namespace crossdock::topology {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

// Adds devices by kind and remembers them; names count from 0.
class ServerPlan {
 public:
  void cpus(int count, std::string_view model) { add(cpu, VertexKind::kCpu, "cpu", count, model); }
  void gpus(int count, std::string_view model, int64_t memory_bytes) {
    add(gpu, VertexKind::kGpu, "gpu", count, model);
    for (const VertexIndex vertex : gpu) parts.vertices[vertex].memory_bytes = memory_bytes;
  }
  void switches(int count) { add(pcie, VertexKind::kPcieSwitch, "pcie", count, ""); }
  // NICs on one network, each on a rail of its own.
  void nics(int count, std::string_view model, double gigabits) {
    add(nic, VertexKind::kNic, "nic", count, model);
    const VertexIndex network = parts.add(VertexKind::kNetwork, "network");
    for (size_t i = 0; i < nic.size(); ++i) {
      parts.vertices[nic[i]].rail = static_cast<int32_t>(i);
      parts.connect(nic[i], network, plain_link(LinkKind::kNetwork, gigabits_per_s(gigabits)));
    }
  }
  void nvswitch(const Edge& per_gpu) {
    const VertexIndex center = parts.add(VertexKind::kNvswitch, "nvswitch");
    for (const VertexIndex vertex : gpu) parts.connect(vertex, center, per_gpu);
  }
  // Every pair of GPUs.
  void mesh(const Edge& link) {
    for (size_t a = 0; a < gpu.size(); ++a) {
      for (size_t b = a + 1; b < gpu.size(); ++b) parts.connect(gpu[a], gpu[b], link);
    }
  }
  void attach(VertexIndex parent, VertexIndex child, const Edge& link) {
    parts.connect(parent, child, link);
    Vertex& device = parts.vertices[child];
    const Vertex& above = parts.vertices[parent];
    const bool is_cpu = above.kind == VertexKind::kCpu;
    device.numa_node = is_cpu ? static_cast<int32_t>(parent - cpu[0]) : above.numa_node;
  }
  // GPUs and NICs under PCIe switches in equal shares, switches under CPUs likewise. NICs reach the memory of the GPUs
  // under their switch directly, at the rate of their own lanes.
  void pcie_tree(const Edge& link, bool is_direct) {
    for (size_t i = 0; i < pcie.size(); ++i)
      attach(cpu[i * cpu.size() / pcie.size()], pcie[i], link);
    for (size_t i = 0; i < gpu.size(); ++i)
      attach(pcie[i * pcie.size() / gpu.size()], gpu[i], link);
    for (size_t i = 0; i < nic.size(); ++i) {
      const size_t place = i * pcie.size() / nic.size();
      attach(pcie[place], nic[i], link);
      for (size_t g = 0; g < gpu.size() && is_direct; ++g) {
        if (g * pcie.size() / gpu.size() == place) direct(nic[i], gpu[g], link);
      }
    }
  }
  void direct(VertexIndex from_nic, VertexIndex to_gpu, const Edge& lanes) {
    Edge edge = lanes;
    edge.kind = LinkKind::kNicDirect;
    parts.connect(from_nic, to_gpu, edge);
  }

  ServerParts parts;
  std::vector<VertexIndex> cpu, gpu, nic, pcie;

 private:
  void add(std::vector<VertexIndex>& into,
           VertexKind kind,
           const char* stem,
           int count,
           std::string_view model) {
    for (int i = 0; i < count; ++i) {
      Vertex vertex;
      vertex.kind = kind;
      vertex.name = fmt::format("{}{}", stem, i);
      vertex.model = model;
      if (kind == VertexKind::kCpu) vertex.numa_node = i;
      into.push_back(parts.add(std::move(vertex)));
    }
  }
};

// What sockets carry is links times the rate of one; how many links a product uses is hardly ever published.
Edge socket_link(double bytes_per_s) {
  Edge edge = plain_link(LinkKind::kSocket, bytes_per_s);
  edge.is_assumed = true;
  return edge;
}

struct NvlinkPair {
  int a;
  int b;
  int links;
};

void connect_pairs(ServerPlan& plan, std::span<const NvlinkPair> pairs) {
  for (const NvlinkPair& pair : pairs) {
    plan.parts.connect(plan.gpu[static_cast<size_t>(pair.a)],
                       plan.gpu[static_cast<size_t>(pair.b)],
                       nvlink_link(2, pair.links));
  }
}

}  // namespace

ServerParts dgx_1v(bool has_nics) {
  constexpr std::array<NvlinkPair, 16> kCubeMesh = {{
      {0, 1, 1},
      {0, 2, 1},
      {0, 3, 2},
      {0, 4, 2},
      {1, 2, 2},
      {1, 3, 1},
      {1, 5, 2},
      {2, 3, 2},
      {2, 6, 1},
      {3, 7, 1},
      {4, 5, 1},
      {4, 6, 1},
      {4, 7, 2},
      {5, 6, 2},
      {5, 7, 1},
      {6, 7, 2},
  }};
  ServerPlan plan;
  plan.cpus(2, "Intel Xeon E5-2698 v4");
  plan.gpus(8, "NVIDIA V100-SXM2-32GB", 32 * kGiB);
  plan.switches(4);
  if (has_nics) plan.nics(4, "ConnectX-4 EDR", 100);
  plan.pcie_tree(pcie_link(3, 16), has_nics);
  plan.parts.connect(plan.cpu[0], plan.cpu[1], socket_link(2 * 19.2e9));
  connect_pairs(plan, kCubeMesh);
  return std::move(plan.parts);
}

ServerParts dgx_2() {
  ServerPlan plan;
  plan.cpus(2, "Intel Xeon Platinum 8168");
  plan.gpus(16, "NVIDIA V100-SXM3-32GB", 32 * kGiB);
  plan.switches(12);
  plan.nics(8, "ConnectX-5 EDR", 100);
  const Edge lanes = pcie_link(3, 16);
  // Two switches per CPU, two more below each of them; GPUs and NICs hang on the eight lower ones.
  for (size_t upper = 0; upper < 4; ++upper) {
    plan.attach(plan.cpu[upper / 2], plan.pcie[upper], lanes);
    for (size_t i = 0; i < 2; ++i) {
      const size_t lower = upper * 2 + i;
      plan.attach(plan.pcie[upper], plan.pcie[4 + lower], lanes);
      plan.attach(plan.pcie[4 + lower], plan.nic[lower], lanes);
      for (size_t g = lower * 2; g < lower * 2 + 2; ++g) {
        plan.attach(plan.pcie[4 + lower], plan.gpu[g], lanes);
        plan.direct(plan.nic[lower], plan.gpu[g], lanes);
      }
    }
  }
  plan.parts.connect(plan.cpu[0], plan.cpu[1], socket_link(2 * 20.8e9));
  plan.nvswitch(nvlink_link(2, 6));
  return std::move(plan.parts);
}

ServerParts dgx_a100(bool has_nics) {
  ServerPlan plan;
  plan.cpus(2, "AMD EPYC 7742");
  plan.gpus(8, "NVIDIA A100-SXM4-80GB", 80 * kGiB);
  plan.switches(4);
  if (has_nics) plan.nics(8, "ConnectX-6 HDR", 200);
  plan.pcie_tree(pcie_link(4, 16), has_nics);
  plan.parts.connect(plan.cpu[0], plan.cpu[1], socket_link(3 * 32e9));
  plan.nvswitch(nvlink_link(3, 12));
  return std::move(plan.parts);
}

ServerParts hgx_h100() {
  ServerPlan plan;
  plan.cpus(2, "Intel Xeon Platinum 8480C");
  plan.gpus(8, "NVIDIA H100-SXM5-80GB", 80 * kGiB);
  plan.switches(8);
  plan.nics(8, "ConnectX-7 NDR", 400);
  plan.pcie_tree(pcie_link(5, 16), true);
  plan.parts.connect(plan.cpu[0], plan.cpu[1], socket_link(3 * 38.4e9));
  plan.nvswitch(nvlink_link(4, 18));
  return std::move(plan.parts);
}

ServerParts gh200() {
  ServerPlan plan;
  plan.cpus(1, "NVIDIA Grace");
  plan.parts.vertices[plan.cpu[0]].memory_bytes = 480 * kGiB;
  plan.gpus(1, "NVIDIA GH200 96GB", 96 * kGiB);
  plan.nics(1, "ConnectX-7 NDR", 400);
  plan.attach(plan.cpu[0], plan.gpu[0], plain_link(LinkKind::kC2c, kC2cBytesPerS));
  plan.attach(plan.cpu[0], plan.nic[0], pcie_link(5, 16));
  return std::move(plan.parts);
}

ServerParts h100_mesh(int gpus, int nics) {
  ServerPlan plan;
  plan.cpus(1, "AMD EPYC 9655");
  plan.gpus(gpus, "NVIDIA H100-SXM5-80GB", 80 * kGiB);
  if (nics > 0) plan.nics(nics, "ConnectX-7", 200);
  const Edge lanes = pcie_link(5, 16);
  for (const VertexIndex gpu : plan.gpu) plan.attach(plan.cpu[0], gpu, lanes);
  for (size_t i = 0; i < plan.nic.size(); ++i) {
    plan.attach(plan.cpu[0], plan.nic[i], lanes);
    for (const VertexIndex gpu : plan.gpu) plan.direct(plan.nic[i], gpu, lanes);
  }
  plan.mesh(nvlink_link(4, 6));
  return std::move(plan.parts);
}

ServerParts pcie_server() {
  ServerPlan plan;
  plan.cpus(1, "");
  plan.gpus(4, "", 0);
  plan.switches(2);
  plan.pcie_tree(pcie_link(3, 16), false);
  return std::move(plan.parts);
}

ServerParts nvlink_mesh_server() {
  ServerPlan plan;
  plan.cpus(1, "");
  plan.gpus(4, "NVIDIA A100", 0);
  plan.switches(2);
  plan.pcie_tree(pcie_link(4, 16), false);
  plan.mesh(nvlink_link(3, 2));
  return std::move(plan.parts);
}

ServerParts numa_server() {
  ServerPlan plan;
  plan.cpus(2, "");
  plan.gpus(4, "", 0);
  plan.switches(2);
  plan.pcie_tree(pcie_link(3, 16), false);
  plan.parts.connect(plan.cpu[0], plan.cpu[1], socket_link(2 * 20.8e9));
  return std::move(plan.parts);
}

ServerParts delta_d22x() {
  constexpr std::array<NvlinkPair, 4> kPairs = {{{0, 1, 2}, {2, 3, 2}, {0, 2, 1}, {1, 3, 1}}};
  ServerPlan plan;
  plan.cpus(2, "Intel Xeon Gold");
  plan.gpus(4, "NVIDIA V100-SXM2-32GB", 32 * kGiB);
  for (size_t i = 0; i < 4; ++i) plan.attach(plan.cpu[i / 2], plan.gpu[i], pcie_link(3, 16));
  plan.parts.connect(plan.cpu[0], plan.cpu[1], socket_link(3 * 20.8e9));
  connect_pairs(plan, kPairs);
  return std::move(plan.parts);
}

ServerParts ac922() {
  constexpr std::array<NvlinkPair, 2> kPairs = {{{0, 1, 3}, {2, 3, 3}}};
  ServerPlan plan;
  plan.cpus(2, "IBM POWER9");
  plan.gpus(4, "NVIDIA V100-SXM2-32GB", 32 * kGiB);
  for (size_t i = 0; i < 4; ++i) plan.attach(plan.cpu[i / 2], plan.gpu[i], nvlink_link(2, 3));
  plan.parts.connect(plan.cpu[0], plan.cpu[1], socket_link(64e9));
  connect_pairs(plan, kPairs);
  return std::move(plan.parts);
}

ServerParts ethernet_server() {
  ServerPlan plan;
  plan.cpus(1, "");
  plan.gpus(1, "", 0);
  plan.nics(1, "", 10);
  plan.attach(plan.cpu[0], plan.gpu[0], pcie_link(3, 16));
  plan.attach(plan.cpu[0], plan.nic[0], pcie_link(3, 8));
  return std::move(plan.parts);
}

ServerParts rdma_server() {
  ServerPlan plan;
  plan.cpus(2, "");
  plan.gpus(2, "", 0);
  plan.switches(2);
  plan.nics(2, "ConnectX-5", 100);
  plan.pcie_tree(pcie_link(3, 16), true);
  plan.parts.connect(plan.cpu[0], plan.cpu[1], socket_link(2 * 20.8e9));
  return std::move(plan.parts);
}

}  // namespace crossdock::topology
