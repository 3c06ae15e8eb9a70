// From the matrix of `nvidia-smi topo -m` to vertices and edges.
//
// Nearness nests: what is near to a third device is as near to another as the third is. So devices that are joined by
// PIX, by PIX or PXB, and by anything but SYS form groups within groups, which are the PCIe switches, the switches
// above them, and the NUMA nodes. Between GPUs with NVLinks the matrix says nothing of PCIe; what it says of them and
// their NICs mostly tells it.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/ranges.h>

#include "topology/discovery.hpp"
#include "topology/link_rates.hpp"
#include "topology/nvidia_smi_matrix.hpp"

namespace crossdock::topology {
namespace {

// No GPU has more NVLinks than H100 and B200.
constexpr int kGpuNvlinksMax = 18;

// Devices that are joined, directly or through others, by relations that `joins` accepts; groups by their first member.
template <class Joins>
std::vector<std::vector<size_t>> groups_of(const SmiMatrix& matrix, Joins joins) {
  const size_t count = matrix.devices.size();
  std::vector<std::vector<size_t>> groups;
  std::vector<bool> is_placed(count);
  for (size_t first = 0; first < count; ++first) {
    if (is_placed[first]) continue;
    std::vector<size_t> group = {first};
    is_placed[first] = true;
    for (size_t next = 0; next < group.size(); ++next) {
      for (size_t other = 0; other < count; ++other) {
        if (is_placed[other] || !joins(matrix.pair(group[next], other).relation)) continue;
        is_placed[other] = true;
        group.push_back(other);
      }
    }
    std::ranges::sort(group);
    groups.push_back(std::move(group));
  }
  return groups;
}

bool on_switch(SmiRelation relation) { return relation == SmiRelation::kPix; }
bool on_switches(SmiRelation relation) {
  return relation == SmiRelation::kPix || relation == SmiRelation::kPxb;
}
bool on_node(SmiRelation relation) {
  return on_switches(relation) || relation == SmiRelation::kPhb || relation == SmiRelation::kNode;
}

class SmiServer {
 public:
  explicit SmiServer(const SmiMatrix& matrix) : matrix_(matrix) {}

  Discovery build() {
    place_on_nodes();
    add_cpus();
    add_devices();
    for (const std::vector<size_t>& group : groups_of(matrix_, &on_switches)) hang(group);
    for (const std::vector<size_t>& group : groups_of(
             matrix_, [](SmiRelation relation) { return relation == SmiRelation::kNvlink; })) {
      if (group.size() > 1) join_by_nvlink(group);
    }
    connect_nics();
    say_what_is_missing();
    say_of_nvlinks();
    return std::move(discovery_);
  }

 private:
  void note(std::string what) { discovery_.notes.push_back({"nvidia-smi", std::move(what)}); }

  static Edge assumed(LinkKind kind, double bytes_per_s) {
    Edge edge = plain_link(kind, bytes_per_s);
    edge.is_assumed = true;
    return edge;
  }

  // The node of every device: as reported, else that of what is near. A group without any is taken to the first
  // node that is not said to be another one.
  void place_on_nodes() {
    node_of_.assign(matrix_.devices.size(), -1);
    std::vector<std::vector<size_t>> unknown;
    for (const std::vector<size_t>& group : groups_of(matrix_, &on_node)) {
      const auto known = std::ranges::find_if(
          group, [&](size_t device) { return matrix_.devices[device].numa_node >= 0; });
      if (known == group.end()) {
        unknown.push_back(group);
        continue;
      }
      for (const size_t device : group) {
        const int node = matrix_.devices[device].numa_node;
        put(device, node >= 0 ? node : matrix_.devices[*known].numa_node);
      }
    }
    for (const std::vector<size_t>& group : unknown) {
      const int node = node_for(group);
      for (const size_t device : group) put(device, node);
    }
  }

  void put(size_t device, int node) {
    node_of_[device] = node;
    on_node_[node].push_back(device);
  }

  int node_for(const std::vector<size_t>& group) {
    for (const auto& [node, devices] : on_node_) {
      bool is_other = false;
      bool is_same = false;
      for (const size_t a : group) {
        for (const size_t b : devices) {
          const std::string& here = matrix_.devices[a].cpus;
          const std::string& there = matrix_.devices[b].cpus;
          const bool is_far = matrix_.pair(a, b).relation == SmiRelation::kSys;
          is_other = is_other || is_far || (!here.empty() && !there.empty() && here != there);
          is_same = is_same || (!here.empty() && here == there);
        }
      }
      if (is_other) continue;
      if (!is_same) unplaced_ += static_cast<int>(group.size());
      return node;
    }
    int node = 0;
    while (on_node_.contains(node)) ++node;
    counted_nodes_.push_back(node);
    return node;
  }

  void add_cpus() {
    for (const auto& [node, devices] : on_node_) {
      Vertex cpu;
      cpu.kind = VertexKind::kCpu;
      cpu.name = fmt::format("cpu{}", node);
      cpu.numa_node = node;
      cpu_of_node_.emplace(node, discovery_.parts.add(std::move(cpu)));
    }
    for (const auto& [a, cpu] : cpu_of_node_) {
      for (const auto& [b, other] : cpu_of_node_) {
        if (a < b)
          discovery_.parts.connect(cpu, other, assumed(LinkKind::kSocket, kAssumedLinkBytesPerS));
      }
    }
  }

  void add_devices() {
    for (size_t i = 0; i < matrix_.devices.size(); ++i) {
      Vertex vertex;
      vertex.kind = matrix_.devices[i].is_gpu ? VertexKind::kGpu : VertexKind::kNic;
      vertex.name = matrix_.devices[i].name;
      vertex.model = matrix_.devices[i].model;
      vertex.numa_node = node_of_[i];
      vertex_of_.push_back(discovery_.parts.add(std::move(vertex)));
    }
  }

  VertexIndex add_switch(VertexIndex above, int node) {
    Vertex hub;
    hub.kind = VertexKind::kPcieSwitch;
    hub.name = fmt::format("pcie{}", switches_++);
    hub.numa_node = node;
    const VertexIndex vertex = discovery_.parts.add(std::move(hub));
    connect_pcie(above, vertex);
    return vertex;
  }

  void connect_pcie(VertexIndex above, VertexIndex below) {
    discovery_.parts.connect(above, below, assumed(LinkKind::kPcie, kAssumedLinkBytesPerS));
  }

  // Devices below one or several switches, or one device by itself.
  void hang(const std::vector<size_t>& group) {
    const int node = node_of_[group[0]];
    const VertexIndex cpu = cpu_of_node_.at(node);
    for (const size_t device : group) {
      if (matrix_.devices[device].memory_node < 0) continue;
      discovery_.parts.connect(cpu_of_node_.at(node_of_[device]),
                               vertex_of_[device],
                               assumed(LinkKind::kC2c, kC2cBytesPerS));
      superchip_gpus_.push_back(matrix_.devices[device].name);
    }
    if (group.size() == 1) {
      if (matrix_.devices[group[0]].memory_node < 0) connect_pcie(cpu, vertex_of_[group[0]]);
      return;
    }
    std::vector<std::vector<size_t>> below;
    std::vector<bool> is_member(matrix_.devices.size());
    for (const size_t device : group) is_member[device] = true;
    for (const std::vector<size_t>& inner : groups_of(matrix_, &on_switch)) {
      if (is_member[inner[0]]) below.push_back(inner);
    }
    const VertexIndex hub = add_switch(cpu, node);
    for (const std::vector<size_t>& inner : below) {
      const bool is_hub = inner.size() == 1 || below.size() == 1;
      const VertexIndex above = is_hub ? hub : add_switch(hub, node);
      for (const size_t device : inner) connect_pcie(above, vertex_of_[device]);
    }
  }

  // One GPU has no more links than its kind: where the matrix counts more, the pairs share them, through NVSwitches.
  void join_by_nvlink(const std::vector<size_t>& group) {
    bool is_switched = false;
    int pairs = 0;
    for (const size_t gpu : group) {
      int links = 0;
      for (const size_t other : group) {
        links += matrix_.pair(gpu, other).nvlinks;
        pairs += matrix_.pair(gpu, other).nvlinks > 0 ? 1 : 0;
      }
      const NvlinkProduct* product = nvlink_product(matrix_.devices[gpu].model);
      is_switched = is_switched || links > (product == nullptr ? kGpuNvlinksMax : product->links);
    }
    if (is_switched) {
      const size_t all = group.size() * (group.size() - 1);
      join_by_nvswitch(group);
      ++fabrics_;
      if (pairs < static_cast<int>(all)) ++broken_fabrics_;
      return;
    }
    for (const size_t a : group) {
      for (const size_t b : group) {
        const int links = matrix_.pair(a, b).nvlinks;
        if (a < b && links > 0)
          discovery_.parts.connect(vertex_of_[a], vertex_of_[b], nvlink(a, b, links));
      }
    }
  }

  void join_by_nvswitch(const std::vector<size_t>& group) {
    const VertexIndex center = discovery_.parts.add(
        VertexKind::kNvswitch, fabrics_ == 0 ? "nvswitch" : fmt::format("nvswitch-{}", fabrics_));
    for (const size_t gpu : group) {
      int links = 0;
      for (const size_t other : group) links = std::max(links, matrix_.pair(gpu, other).nvlinks);
      discovery_.parts.connect(vertex_of_[gpu], center, nvlink(gpu, gpu, links));
    }
  }

  Edge nvlink(size_t a, size_t b, int links) {
    const NvlinkProduct* one = nvlink_product(matrix_.devices[a].model);
    const NvlinkProduct* other = nvlink_product(matrix_.devices[b].model);
    const bool is_known =
        one != nullptr && other != nullptr && one->generation == other->generation;
    if (is_known) return nvlink_link(one->generation, links);
    for (const size_t gpu : {a, b}) {
      if (nvlink_product(matrix_.devices[gpu].model) == nullptr) unknown_gpus_.emplace(gpu);
    }
    Edge edge = nvlink_link(kAssumedNvlinkGeneration, links);
    edge.is_assumed = true;
    return edge;
  }

  void connect_nics() {
    std::optional<VertexIndex> network;
    for (size_t i = 0; i < matrix_.devices.size(); ++i) {
      if (matrix_.devices[i].is_gpu) continue;
      if (!network) network = discovery_.parts.add(VertexKind::kNetwork, "network");
      discovery_.parts.connect(
          vertex_of_[i], *network, assumed(LinkKind::kNetwork, kAssumedNetworkBytesPerS));
      ++nics_;
    }
  }

  // Whether NVLinks hide how far two GPUs are by PCIe. A third device that is nearer to one than to the other, or on
  // the switches of both, tells it.
  bool is_hidden(size_t a, size_t b) const {
    if (matrix_.pair(a, b).relation != SmiRelation::kNvlink || node_of_[a] != node_of_[b])
      return false;
    for (size_t i = 0; i < matrix_.devices.size(); ++i) {
      const SmiRelation to_a = matrix_.pair(a, i).relation;
      const SmiRelation to_b = matrix_.pair(b, i).relation;
      if (to_a <= SmiRelation::kNvlink || to_b <= SmiRelation::kNvlink) continue;
      if (to_a != to_b || on_switches(to_a)) return false;
    }
    return true;
  }

  void say_what_is_missing() {
    note(fmt::format("generations and lanes of PCIe are not in the matrix; {:g} GB/s are assumed",
                     kAssumedLinkBytesPerS / 1e9));
    note("sizes of memory and drives are not in the matrix");
    if (cpu_of_node_.size() > 1) {
      note(
          fmt::format("what NUMA nodes carry between each other is not in the matrix; {:g} GB/s "
                      "are assumed",
                      kAssumedLinkBytesPerS / 1e9));
    }
    if (nics_ > 0) {
      note(
          fmt::format("speeds of NICs are not in the matrix; {:g} Gb/s are assumed. Nor is whether "
                      "they access GPU memory; no NIC-direct edges are made",
                      kAssumedNetworkBytesPerS * 8 / 1e9));
    }
    if (!counted_nodes_.empty()) {
      note(fmt::format("the numbers of {} NUMA nodes are not known; they are counted: {}",
                       counted_nodes_.size(),
                       fmt::join(counted_nodes_, ", ")));
    }
    if (unplaced_ > 0) {
      note(
          fmt::format("of {} devices no NUMA node is known; they are placed at the first that may "
                      "be theirs",
                      unplaced_));
    }
    if (matrix_.unclear_affinities > 0) {
      note(
          fmt::format("{} rows have fewer values than columns beside the devices; they are left "
                      "out",
                      matrix_.unclear_affinities));
    }
    const auto several = std::ranges::count_if(matrix_.devices, &SmiDevice::has_more_nodes);
    if (several > 0)
      note(fmt::format("{} devices have several NUMA nodes; the first is taken", several));
    if (!superchip_gpus_.empty()) {
      note(
          fmt::format("the memory of {} is a NUMA node, as on superchips: NVLink-C2C at the {:g} "
                      "GB/s of GH200 is assumed",
                      fmt::join(superchip_gpus_, ", "),
                      kC2cBytesPerS / 1e9));
    }
  }

  void say_of_nvlinks() {
    int hidden = 0;
    for (size_t a = 0; a < matrix_.devices.size(); ++a) {
      for (size_t b = 0; b < a; ++b) hidden += is_hidden(a, b) ? 1 : 0;
    }
    if (hidden > 0) {
      note(
          fmt::format("NVLinks stand in place of the PCIe path of {} pairs of GPUs; whether these "
                      "share a switch is not known, and they are taken not to",
                      hidden));
    }
    if (!unknown_gpus_.empty()) {
      note(
          fmt::format("the generation of NVLink of {} GPUs is not known; {:g} GB/s per link are "
                      "assumed, as of V100, "
                      "A100 and H100. Lines of `nvidia-smi -L` before the matrix tell it",
                      unknown_gpus_.size(),
                      nvlink_bytes_per_s(kAssumedNvlinkGeneration) / 1e9));
    }
    if (fabrics_ > 0) {
      note(
          "a GPU's pairs have more NVLinks together than a GPU has, so they are taken to meet on "
          "NVSwitches");
    }
    if (fabrics_ > 1 || broken_fabrics_ > 0) {
      note(
          "some GPUs on NVSwitches have no NVLinks to each other, which one vertex for all "
          "NVSwitches does not show");
    }
  }

  static constexpr int kAssumedNvlinkGeneration = 2;  // as fast per link as 3 and 4

  const SmiMatrix& matrix_;
  Discovery discovery_;
  std::vector<int> node_of_;                    // by device
  std::map<int, std::vector<size_t>> on_node_;  // devices by node
  std::map<int, VertexIndex> cpu_of_node_;
  std::vector<VertexIndex> vertex_of_;  // by device
  std::vector<int> counted_nodes_;
  std::vector<std::string> superchip_gpus_;
  std::set<size_t> unknown_gpus_;
  int switches_ = 0;
  int fabrics_ = 0;
  int broken_fabrics_ = 0;
  int nics_ = 0;
  int unplaced_ = 0;
};

}  // namespace

Result<Discovery> discover_from_nvidia_smi(std::string_view text) {
  CD_ASSIGN(const SmiMatrix matrix, read_smi_matrix(text));
  return SmiServer(matrix).build();
}

}  // namespace crossdock::topology
