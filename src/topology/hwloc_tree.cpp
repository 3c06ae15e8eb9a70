// From hwloc's objects to vertices and edges.
//
// A PCIe switch is a bridge below which the tree branches: hwloc shows each of its ports as a bridge of its own, and so
// a chain of bridges without a branch is one link, as narrow as its narrowest piece. Functions of one device that share
// its link branch as well, and get a vertex in the same way, so that their link is counted once.
#include "topology/hwloc_tree.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "base/check.hpp"
#include "base/text_cut.hpp"
#include "topology/hwloc_devices.hpp"
#include "topology/link_rates.hpp"

namespace crossdock::topology {
namespace {

// Whether probes call vertices of their own like this ("cpu0", "gpu1", "pcie2", "nvswitch", "network"), so that no
// device of the operating system may be called so.
bool is_own_name(std::string_view name) {
  if (name == "network" || name == "nvswitch") return true;
  const size_t end = name.find_last_not_of("0123456789") + 1;
  const std::string_view stem = name.substr(0, end);
  return end < name.size() && (stem == "cpu" || stem == "gpu" || stem == "pcie");
}

static_assert(HWLOC_API_VERSION >= 0x00020100,
              "hwloc 2.1 has distances by name and the Bridge objects used here");

// PCI buses are numbered in a byte, and bridges seldom nest beyond eight.
constexpr int kPciDepthMax = 64;

class TreeReader {
 public:
  TreeReader(hwloc_topology_t topology, const DeviceProbes& facts)
      : topology_(topology), facts_(facts) {}

  Result<Discovery> read() {
    add_numa_nodes();
    if (cpu_of_node_.empty()) {
      return make_error(ErrorCode::kInvalidTopology,
                        "hwloc shows no NUMA node with cores; was the file cut short or filtered?");
    }
    connect_sockets();
    hwloc_obj_t bridge = nullptr;
    while ((bridge = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_BRIDGE, bridge)) != nullptr) {
      const bool is_host = bridge->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
      if (is_host) walk(bridge, cpu_near(bridge), Lanes(), 0);
    }
    add_nvlinks();
    if (facts_.nvml != nullptr) {
      merge_nvml(*facts_.nvml, !has_nvlinks_, discovery_);
      has_nvlinks_ = has_nvlinks_ || facts_.nvml->tells_nvlinks;
      keep_narrowest();
    }
    drop_isolated_nvswitches();
    connect_nics();
    say_what_is_missing();
    return std::move(discovery_);
  }

 private:
  // What is known of a chain of PCIe links.
  struct Lanes {
    double bytes_per_s = std::numeric_limits<double>::infinity();
    double top_bytes_per_s = bytes_per_s;  // at the highest speeds, where they are known
    bool is_top_known = true;
    int width = 0;
    int full_width = 0;
  };

  void note(std::string probe, std::string what) {
    discovery_.notes.push_back({std::move(probe), std::move(what)});
  }
  VertexIndex add_vertex(VertexKind kind, std::string name, const PciAttributes* pci) {
    Vertex vertex;
    vertex.kind = kind;
    vertex.name = std::move(name);
    if (pci != nullptr) vertex.bus_id = bus_id_of(*pci);
    return discovery_.parts.add(std::move(vertex));
  }
  // But for the network.
  bool is_full() const { return discovery_.parts.vertices.size() + 1 >= kServerVerticesMax; }

  void add_numa_nodes() {
    hwloc_obj_t node = nullptr;
    int without_cores = 0;
    while ((node = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
      if (node->cpuset == nullptr || hwloc_bitmap_iszero(node->cpuset)) {
        ++without_cores;  // memory of a GPU, or memory alone
        continue;
      }
      if (is_full()) {
        ++left_out_;
        continue;
      }
      const VertexIndex cpu =
          add_vertex(VertexKind::kCpu, fmt::format("cpu{}", node->os_index), nullptr);
      Vertex& vertex = discovery_.parts.vertices[cpu];
      vertex.numa_node = static_cast<int32_t>(node->os_index);
      vertex.memory_bytes =
          static_cast<int64_t>(std::min<uint64_t>(node->attr->numanode.local_memory, INT64_MAX));
      for (hwloc_obj_t above = node->parent; above != nullptr && vertex.model.empty();
           above = above->parent) {
        vertex.model = info_of(above, "CPUModel");
      }
      cpu_of_node_.emplace(node->os_index, cpu);
    }
    if (without_cores > 0) {
      note("hwloc", fmt::format("{} NUMA nodes have no cores and are left out", without_cores));
    }
  }

  void connect_sockets() {
    for (const auto& [a, cpu] : cpu_of_node_) {
      for (const auto& [b, other] : cpu_of_node_) {
        if (a < b)
          discovery_.parts.connect(cpu, other, assumed(LinkKind::kSocket, kAssumedLinkBytesPerS));
      }
    }
    if (cpu_of_node_.size() < 2) return;
    note("hwloc",
         fmt::format(
             "what NUMA nodes carry between each other is not reported by any probe; {:g} GB/s "
             "are assumed",
             kAssumedLinkBytesPerS / 1e9));
  }

  static Edge assumed(LinkKind kind, double bytes_per_s) {
    Edge edge = plain_link(kind, bytes_per_s);
    edge.is_assumed = true;
    return edge;
  }

  VertexIndex cpu_near(hwloc_obj_t bridge) {
    const hwloc_obj_t above = hwloc_get_non_io_ancestor_obj(topology_, bridge);
    int near = 0;
    VertexIndex cpu = cpu_of_node_.begin()->second;
    for (auto node = cpu_of_node_.rbegin(); node != cpu_of_node_.rend(); ++node) {
      if (above == nullptr || above->nodeset == nullptr) break;
      if (!hwloc_bitmap_isset(above->nodeset, node->first)) continue;
      cpu = node->second;
      ++near;
    }
    if (near != 1 && cpu_of_node_.size() > 1) ++unplaced_bridges_;
    return cpu;
  }

  bool leads_to_device(hwloc_obj_t object, int depth) const {
    if (device_of(object)) return true;
    if (object->type != HWLOC_OBJ_BRIDGE || depth > kPciDepthMax) return false;
    for (hwloc_obj_t child = object->io_first_child; child != nullptr;
         child = child->next_sibling) {
      if (leads_to_device(child, depth + 1)) return true;
    }
    return false;
  }

  Lanes narrowed(Lanes lanes, hwloc_obj_t object) const {
    const PciAttributes* pci = pci_of(object);
    if (pci == nullptr) return lanes;
    std::optional<PciLanes> probed;
    if (facts_.lanes) probed = facts_.lanes(bus_id_of(*pci));
    const double bytes_per_s = probed ? probed->bytes_per_s : pci->linkspeed * 1e9;
    const bool is_top_known = probed && probed->top_bytes_per_s > 0;
    const double top = is_top_known ? probed->top_bytes_per_s : bytes_per_s;
    if (bytes_per_s > 0) {
      lanes.bytes_per_s = std::min(lanes.bytes_per_s, bytes_per_s);
      lanes.top_bytes_per_s = std::min(lanes.top_bytes_per_s, top);
      lanes.is_top_known = lanes.is_top_known && is_top_known;
    }
    const auto least = [](int a, int b) {
      return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
    };
    if (probed) lanes.width = least(lanes.width, probed->width);
    if (probed) lanes.full_width = least(lanes.full_width, probed->full_width);
    return lanes;
  }

  void connect_pcie(VertexIndex above, VertexIndex below, const Lanes& lanes) {
    Edge edge = plain_link(LinkKind::kPcie, lanes.bytes_per_s);
    edge.width = lanes.width;
    edge.full_width = lanes.full_width;
    if (lanes.bytes_per_s == std::numeric_limits<double>::infinity()) {
      edge = assumed(LinkKind::kPcie, kAssumedLinkBytesPerS);
      ++unknown_lanes_;
    }
    discovery_.parts.connect(above, below, edge);
    discovery_.parts.vertices[below].numa_node = discovery_.parts.vertices[above].numa_node;
  }

  // An idle GPU slows its link down, so what the link can do counts.
  void connect_gpu(VertexIndex above, VertexIndex gpu, Lanes lanes) {
    constexpr double kIdleBytesPerS = 4.01e9;  // 16 lanes at 2.5 GT/s
    if (lanes.is_top_known)
      top_of_gpu_.emplace(gpu, lanes.top_bytes_per_s);
    else if (lanes.top_bytes_per_s < kIdleBytesPerS)
      ++slow_gpus_;
    lanes.bytes_per_s = lanes.top_bytes_per_s;
    connect_pcie(above, gpu, lanes);
  }

  // NVML tells of the GPU and its slot, but not of bridges above that are slower.
  void keep_narrowest() {
    for (Edge& edge : discovery_.parts.edges) {
      if (edge.kind != LinkKind::kPcie) continue;
      for (const VertexIndex end : {edge.from, edge.to}) {
        const auto top = top_of_gpu_.find(end);
        if (top != top_of_gpu_.end()) edge.bytes_per_s = std::min(edge.bytes_per_s, top->second);
      }
    }
  }

  // Everything below `object`, which hangs on `above` by `lanes`.
  void walk(hwloc_obj_t object, VertexIndex above, Lanes lanes, int depth) {
    if (depth > kPciDepthMax) return;
    lanes = narrowed(lanes, object);
    if (const std::optional<PciDevice> device = device_of(object)) {
      if (is_full())
        ++left_out_;
      else
        add_device(object, *device, above, lanes);
      return;
    }
    std::vector<hwloc_obj_t> children;
    for (hwloc_obj_t child = object->io_first_child; child != nullptr;
         child = child->next_sibling) {
      if (leads_to_device(child, depth + 1)) children.push_back(child);
    }
    // Ports of a host bridge lead into the CPU, each by itself.
    const bool is_host = pci_of(object) == nullptr;
    if (children.size() > 1 && !is_host && !is_full()) {
      const VertexIndex hub =
          add_vertex(VertexKind::kPcieSwitch, fmt::format("pcie{}", switches_++), pci_of(object));
      connect_pcie(above, hub, lanes);
      above = hub;
      lanes = Lanes();
    }
    for (const hwloc_obj_t child : children) walk(child, above, lanes, depth + 1);
  }

  void add_device(hwloc_obj_t object,
                  const PciDevice& device,
                  VertexIndex above,
                  const Lanes& lanes) {
    const PciAttributes& pci = object->attr->pcidev;
    // A name that a vertex of ours may have, or that no vertex may have, is given up for the kind and the address.
    std::string name(first_characters(device.name, kNameBytesMax));
    if (is_own_name(name) || name.find('/') != std::string::npos) name.clear();
    if (device.kind == VertexKind::kGpu) name = fmt::format("gpu{}", gpus_++);
    if (device.kind == VertexKind::kNvswitch) name = "nvswitch";
    if (name.empty() || !names_.insert(name).second)
      name = fmt::format("{}-{}", kind_name(device.kind), bus_id_of(pci));
    const VertexIndex vertex = add_vertex(device.kind, name, &pci);
    discovery_.parts.vertices[vertex].model = info_of(object, "PCIDevice");
    vertex_of_.emplace(object, vertex);
    above_.emplace(vertex, above);
    if (device.kind == VertexKind::kGpu)
      connect_gpu(above, vertex, lanes);
    else if (device.kind != VertexKind::kNvswitch)
      connect_pcie(above, vertex, lanes);
    if (device.kind == VertexKind::kNic) nics_.push_back({vertex, object, device.name});
  }

  // NVLinks as hwloc's NVML plugin found them: MB/s from one object to another.
  void add_nvlinks() {
    hwloc_distances_s* distances = nullptr;
    unsigned count = 1;
    const int failed =
        hwloc_distances_get_by_name(topology_, "NVLinkBandwidth", &count, &distances, 0);
    if (failed != 0 || count == 0) return;
    has_nvlinks_ = true;
    for (unsigned i = 0; i < distances->nbobjs; ++i) {
      for (unsigned j = 0; j < distances->nbobjs; ++j) {
        const auto from = vertex_at(distances->objs[i]);
        const auto to = vertex_at(distances->objs[j]);
        const hwloc_uint64_t megabytes = distances->values[i * distances->nbobjs + j];
        if (!from || !to || *from == *to || megabytes == 0) continue;
        Edge edge = plain_link(LinkKind::kNvlink, static_cast<double>(megabytes) * 1e6);
        edge.from = *from;
        edge.to = *to;
        const bool is_trunk =
            kind(*from) == VertexKind::kNvswitch && kind(*to) == VertexKind::kNvswitch;
        if (!is_trunk) discovery_.parts.edges.push_back(edge);
      }
    }
    hwloc_distances_release(topology_, distances);
  }

  VertexKind kind(VertexIndex vertex) const { return discovery_.parts.vertices[vertex].kind; }

  // Of a PCI device, of an operating system's device on it, or of the CPU that an NVLink of POWER ends at.
  std::optional<VertexIndex> vertex_at(hwloc_obj_t object) const {
    for (; object != nullptr; object = object->parent) {
      const auto entry = vertex_of_.find(object);
      if (entry != vertex_of_.end()) return entry->second;
      if (object->nodeset == nullptr) continue;
      const auto cpu =
          cpu_of_node_.find(static_cast<unsigned>(hwloc_bitmap_first(object->nodeset)));
      if (cpu != cpu_of_node_.end()) return cpu->second;
    }
    return std::nullopt;
  }

  // An NVSwitch of which no link is known would only stand about.
  void drop_isolated_nvswitches() {
    std::vector<bool> is_linked(discovery_.parts.vertices.size());
    for (const Edge& edge : discovery_.parts.edges)
      is_linked[edge.from] = is_linked[edge.to] = true;
    std::vector<VertexIndex> place(discovery_.parts.vertices.size());
    std::vector<Vertex> kept;
    for (size_t i = 0; i < is_linked.size(); ++i) {
      place[i] = static_cast<VertexIndex>(kept.size());
      const bool is_isolated =
          !is_linked[i] && discovery_.parts.vertices[i].kind == VertexKind::kNvswitch;
      if (is_isolated)
        ++dropped_nvswitches_;
      else
        kept.push_back(discovery_.parts.vertices[i]);
    }
    if (dropped_nvswitches_ == 0) return;
    for (Edge& edge : discovery_.parts.edges)
      edge.from = place[edge.from], edge.to = place[edge.to];
    for (Nic& nic : nics_) nic.vertex = place[nic.vertex];
    std::map<VertexIndex, VertexIndex> above;
    for (const auto& [vertex, parent] : above_) above.emplace(place[vertex], place[parent]);
    above_ = std::move(above);
    discovery_.parts.vertices = std::move(kept);
  }

  struct Nic {
    VertexIndex vertex;
    hwloc_obj_t object;
    std::string device;  // of the operating system
  };

  void connect_nics() {
    std::optional<VertexIndex> network;
    for (const Nic& nic : nics_) {
      const std::string name = discovery_.parts.vertices[nic.vertex].name;
      std::optional<PortState> port;
      if (facts_.port) port = facts_.port(nic.device);
      if (port && !port->is_up) {
        note("sysfs", fmt::format("{} is down and has no link to the network", name));
        continue;
      }
      const bool is_known = port && port->bytes_per_s > 0;
      if (!is_known) unknown_ports_.push_back(name);
      if (!network) network = discovery_.parts.add(VertexKind::kNetwork, "network");
      discovery_.parts.connect(nic.vertex,
                               *network,
                               is_known ? plain_link(LinkKind::kNetwork, port->bytes_per_s)
                                        : assumed(LinkKind::kNetwork, kAssumedNetworkBytesPerS));
      if (facts_.has_gpu_peer_memory) connect_directly(nic);
    }
  }

  // The PCIe link that walk() laid, with what NVML corrected.
  Edge link_between(VertexIndex above, VertexIndex below) const {
    const auto link = std::ranges::find_if(discovery_.parts.edges, [&](const Edge& edge) {
      return edge.kind == LinkKind::kPcie && edge.from == above && edge.to == below;
    });
    CD_CHECK(link != discovery_.parts.edges.end(), "no link from {} to {}", above, below);
    return *link;
  }

  // To the GPUs under the same switch, where peer traffic need not pass the CPU.
  void connect_directly(const Nic& nic) {
    if (os_device(nic.object, {HWLOC_OBJ_OSDEV_OPENFABRICS}) == nullptr) return;
    const VertexIndex above = above_.at(nic.vertex);
    if (kind(above) != VertexKind::kPcieSwitch) return;
    for (const auto& [gpu, parent] : above_) {
      if (parent != above || kind(gpu) != VertexKind::kGpu) continue;
      const Edge to_nic = link_between(above, nic.vertex);
      const Edge to_gpu = link_between(above, gpu);
      const Edge& narrowest = to_gpu.bytes_per_s < to_nic.bytes_per_s ? to_gpu : to_nic;
      Edge edge = plain_link(LinkKind::kNicDirect, narrowest.bytes_per_s);
      edge.is_assumed = narrowest.is_assumed;
      discovery_.parts.connect(nic.vertex, gpu, edge);
    }
  }

  void say_what_is_missing() {
    // What sysfs was not asked for, hwloc is what did not tell it.
    const char* const kernel = facts_.lanes || facts_.port ? "sysfs" : "hwloc";
    if (left_out_ > 0) {
      note("hwloc",
           fmt::format("a server has at most {} vertices; {} NUMA nodes and devices are left out",
                       kServerVerticesMax,
                       left_out_));
    }
    if (unplaced_bridges_ > 0) {
      note("hwloc",
           fmt::format("{} PCIe host bridges belong to no NUMA node in particular; they are placed "
                       "at the first",
                       unplaced_bridges_));
    }
    if (unknown_lanes_ > 0) {
      note(kernel,
           fmt::format("{} PCIe links tell no speed, as in virtual machines; {:g} GB/s are assumed",
                       unknown_lanes_,
                       kAssumedLinkBytesPerS / 1e9));
    }
    if (slow_gpus_ > 0 && (facts_.nvml == nullptr || facts_.nvml->gpus.empty())) {
      note(kernel,
           fmt::format("the PCIe links of {} GPUs tell 4 GB/s or less, as links of idle GPUs do at "
                       "generation 1; look again while they work, or correct it in a file",
                       slow_gpus_));
    }
    if (!unknown_ports_.empty()) {
      note(kernel,
           fmt::format("the speed of {} is not known; {:g} Gb/s are assumed",
                       fmt::join(unknown_ports_, ", "),
                       kAssumedNetworkBytesPerS * 8 / 1e9));
    }
    if (gpus_ > 0 && !has_nvlinks_)
      note("hwloc", "NVLinks are not known; GPUs are joined by PCIe alone");
    if (dropped_nvswitches_ > 0 && !has_nvlinks_) {
      note("hwloc",
           fmt::format("{} NVSwitches have no known links and are left out", dropped_nvswitches_));
    }
    if (gpus_ > 0 && !nics_.empty() && !facts_.has_gpu_peer_memory) {
      note(kernel,
           facts_.port
               ? "nvidia_peermem is not loaded, so NICs are taken not to access GPU memory; load "
                 "it for NIC-direct"
               : "whether NICs access GPU memory is not known; no NIC-direct edges are made");
    }
  }

  hwloc_topology_t topology_;
  const DeviceProbes& facts_;
  Discovery discovery_;
  std::map<unsigned, VertexIndex> cpu_of_node_;
  std::map<hwloc_obj_t, VertexIndex> vertex_of_;
  std::map<VertexIndex, VertexIndex> above_;  // of devices: what they hang on
  std::set<std::string> names_;               // of devices
  std::vector<Nic> nics_;
  std::map<VertexIndex, double> top_of_gpu_;  // bytes/s of the chain to it, at the highest speeds
  std::vector<std::string> unknown_ports_;
  int switches_ = 0;
  int gpus_ = 0;
  int slow_gpus_ = 0;
  int left_out_ = 0;
  int unplaced_bridges_ = 0;
  int unknown_lanes_ = 0;
  int dropped_nvswitches_ = 0;
  bool has_nvlinks_ = false;
};

}  // namespace

Result<Discovery> parts_of_hwloc(hwloc_topology_t topology, const DeviceProbes& facts) {
  return TreeReader(topology, facts).read();
}

}  // namespace crossdock::topology
