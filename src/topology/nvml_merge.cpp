// Puts what NVML says into what hwloc found. See nvml_probe.hpp.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/ranges.h>

#include "topology/link_rates.hpp"
#include "topology/nvml_probe.hpp"

namespace crossdock::topology {
namespace {

constexpr unsigned kPciVendorNvidia = 0x10de;
constexpr unsigned kVendorIbm = 0x1014;
// The smaller of two numbers of lanes, of which 0 is not known.
int least_known(int a, int b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

constexpr double kUnknownNvlinkBytesPerS = 25e9;  // V100, A100 and H100

class NvmlMerger {
 public:
  NvmlMerger(const NvmlAnswer& answer, Discovery& discovery)
      : answer_(answer), discovery_(discovery) {}

  void merge(bool with_nvlinks) {
    for (size_t i = 0; i < parts().vertices.size(); ++i) {
      const Vertex& vertex = parts().vertices[i];
      const auto index = static_cast<VertexIndex>(i);
      if (vertex.kind == VertexKind::kGpu) gpu_at_.emplace(vertex.bus_id, index);
      if (vertex.kind == VertexKind::kNvswitch) switch_at_.emplace(vertex.bus_id, index);
      if (vertex.kind == VertexKind::kCpu) cpu_of_node_.emplace(vertex.numa_node, index);
    }
    for (const NvmlGpu& gpu : answer_.gpus) add_facts(gpu);
    if (with_nvlinks) {
      for (const NvmlGpu& gpu : answer_.gpus) count_links(gpu);
      connect_counted();
    }
    for (const ProbeNote& one : answer_.notes) discovery_.notes.push_back(one);
    say_what_is_missing();
  }

 private:
  // NVLinks of one direction.
  struct Bundle {
    int links = 0;
    double bytes_per_s = 0;
    bool is_assumed = false;
  };

  ServerParts& parts() { return discovery_.parts; }
  void note(std::string what) { discovery_.notes.push_back({"nvml", std::move(what)}); }

  void add_facts(const NvmlGpu& gpu) {
    auto place = gpu_at_.find(gpu.bus_id);
    if (place == gpu_at_.end()) place = gpu_at_.emplace(gpu.bus_id, add_gpu(gpu)).first;
    Vertex& vertex = parts().vertices[place->second];
    if (!gpu.name.empty()) vertex.model = gpu.name;
    if (gpu.memory_bytes > 0) vertex.memory_bytes = gpu.memory_bytes;
    // The kernel's files tell the speed at this moment, and an idle GPU slows its link down; NVML tells what it can do.
    for (Edge& edge : parts().edges) {
      const bool is_link =
          edge.kind == LinkKind::kPcie && (edge.from == place->second || edge.to == place->second);
      if (is_link) set_lanes(gpu, edge);
    }
    if (gpu.has_c2c) connect_c2c(gpu, place->second);
  }

  // In place of PCIe to the same CPU, over which nothing goes then.
  void connect_c2c(const NvmlGpu& gpu, VertexIndex place) {
    const auto cpu = cpu_of_node_.find(parts().vertices[place].numa_node);
    if (cpu == cpu_of_node_.end()) {
      note(fmt::format("GPU {} has NVLink-C2C, but to which CPU is not known; it is left out",
                       gpu.index));
      return;
    }
    std::erase_if(parts().edges, [&](const Edge& edge) {
      return edge.kind == LinkKind::kPcie && ((edge.from == place && edge.to == cpu->second) ||
                                              (edge.to == place && edge.from == cpu->second));
    });
    Edge edge = plain_link(LinkKind::kC2c, kC2cBytesPerS);
    edge.is_assumed = gpu.name.find("GH200") == std::string::npos;
    assumed_c2c_ += edge.is_assumed ? 1 : 0;
    parts().connect(cpu->second, place, edge);
  }

  static void set_lanes(const NvmlGpu& gpu, Edge& edge) {
    // A link that leads through bridges is as narrow as its narrowest piece, which need not be the GPU's own.
    const int lanes = least_known(gpu.lanes, edge.width);
    if (gpu.pcie_generation == 0 || lanes == 0) return;
    edge.bytes_per_s = pcie_bytes_per_s(pcie_transfers_per_s(gpu.pcie_generation), lanes);
    edge.width = lanes;
    edge.full_width = least_known(gpu.full_lanes, edge.full_width);
    edge.is_assumed = false;
  }

  VertexIndex add_gpu(const NvmlGpu& gpu) {
    std::set<std::string> names;
    for (const Vertex& vertex : parts().vertices) names.insert(vertex.name);
    int number = 0;
    while (names.contains(fmt::format("gpu{}", number))) ++number;
    Vertex vertex;
    vertex.kind = VertexKind::kGpu;
    vertex.name = fmt::format("gpu{}", number);
    vertex.bus_id = gpu.bus_id;
    added_.push_back(vertex.name);
    const VertexIndex place = parts().add(std::move(vertex));
    if (!cpu_of_node_.empty()) {
      Edge edge = plain_link(LinkKind::kPcie, kAssumedLinkBytesPerS);
      edge.is_assumed = true;
      parts().connect(cpu_of_node_.begin()->second, place, edge);
      parts().vertices[place].numa_node = cpu_of_node_.begin()->first;
    }
    return place;
  }

  void count_links(const NvmlGpu& gpu) {
    const VertexIndex from = gpu_at_.at(gpu.bus_id);
    const NvlinkProduct* product = nvlink_product(gpu.name);
    for (const NvmlLink& link : gpu.links) {
      const std::optional<VertexIndex> to = peer_of(link, from);
      if (!to || *to == from) {
        ++unknown_peers_;
        continue;
      }
      // The name of a product is surer than the version: some drivers call that of H100 5.0.
      const int generation = product != nullptr ? product->generation : link.generation;
      Bundle& bundle = bundles_[{from, *to}];
      ++bundle.links;
      bundle.bytes_per_s +=
          generation > 0 ? nvlink_bytes_per_s(generation) : kUnknownNvlinkBytesPerS;
      bundle.is_assumed = bundle.is_assumed || generation == 0;
      unknown_generations_ += generation == 0 ? 1 : 0;
    }
  }

  std::optional<VertexIndex> peer_of(const NvmlLink& link, VertexIndex from) {
    const auto gpu = gpu_at_.find(link.peer_bus_id);
    const bool is_known = link.peer_kind != kNvmlPeerUnknown;
    if (gpu != gpu_at_.end() && (!is_known || link.peer_kind == kNvmlPeerGpu)) return gpu->second;
    const bool is_switch = is_known ? link.peer_kind == kNvmlPeerSwitch
                                    : link.peer_vendor == kPciVendorNvidia && gpu == gpu_at_.end();
    if (is_switch) return nvswitch(link.peer_bus_id);
    const bool is_cpu =
        is_known ? link.peer_kind == kNvmlPeerIbmNpu : link.peer_vendor == kVendorIbm;
    const auto cpu = cpu_of_node_.find(parts().vertices[from].numa_node);
    if (is_cpu && cpu != cpu_of_node_.end()) return cpu->second;
    return std::nullopt;
  }

  // All NVSwitches become one vertex, so which of them a link leads to matters only for those that hwloc shows.
  VertexIndex nvswitch(const std::string& bus_id) {
    const auto entry = switch_at_.find(bus_id);
    if (entry != switch_at_.end()) return entry->second;
    if (switch_at_.empty()) {
      switch_at_.emplace(bus_id, parts().add(VertexKind::kNvswitch, "nvswitch"));
    }
    return switch_at_.begin()->second;
  }

  // A link has two ends, and each GPU tells of its own. Where one of them did not answer, the other stands for both.
  void connect_counted() {
    std::map<std::pair<VertexIndex, VertexIndex>, Bundle> both = bundles_;
    for (const auto& [ends, bundle] : bundles_)
      both.emplace(std::pair(ends.second, ends.first), bundle);
    for (const auto& [ends, bundle] : both) {
      Edge edge = plain_link(LinkKind::kNvlink, bundle.bytes_per_s);
      edge.from = ends.first;
      edge.to = ends.second;
      edge.width = bundle.links;
      edge.full_width = bundle.links;
      edge.is_assumed = bundle.is_assumed;
      parts().edges.push_back(edge);
    }
  }

  void say_what_is_missing() {
    if (!added_.empty()) {
      note(fmt::format(
          "{} are no PCI devices that hwloc shows; they are placed at the first NUMA node",
          fmt::join(added_, ", ")));
    }
    if (assumed_c2c_ > 0) {
      note(
          fmt::format("what NVLink-C2C of {} GPUs carries is not known; the {:g} GB/s of GH200 are "
                      "assumed",
                      assumed_c2c_,
                      kC2cBytesPerS / 1e9));
    }
    if (unknown_peers_ > 0) {
      note(fmt::format("{} NVLinks lead to what is not known, and are left out", unknown_peers_));
    }
    if (unknown_generations_ > 0) {
      note(fmt::format("{} NVLinks are of a generation that is not known; {:g} GB/s are assumed",
                       unknown_generations_,
                       kUnknownNvlinkBytesPerS / 1e9));
    }
  }

  const NvmlAnswer& answer_;
  Discovery& discovery_;
  std::map<std::string, VertexIndex> gpu_at_;  // by PCI address
  std::map<std::string, VertexIndex> switch_at_;
  std::map<int32_t, VertexIndex> cpu_of_node_;
  std::map<std::pair<VertexIndex, VertexIndex>, Bundle> bundles_;
  std::vector<std::string> added_;
  int assumed_c2c_ = 0;
  int unknown_peers_ = 0;
  int unknown_generations_ = 0;
};

}  // namespace

void merge_nvml(const NvmlAnswer& answer, bool with_nvlinks, Discovery& discovery) {
  NvmlMerger(answer, discovery).merge(with_nvlinks);
}

}  // namespace crossdock::topology
