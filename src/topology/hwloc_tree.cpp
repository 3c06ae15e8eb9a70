// From hwloc's objects to vertices and edges.
//
// A PCIe switch is a bridge below which the tree branches: hwloc shows each of its ports as a bridge of its own, and so
// a chain of bridges without a branch is one link, as narrow as its narrowest piece. Functions of one device that share
// its link branch as well, and get a vertex in the same way, so that their link is counted once.
#include "topology/hwloc_tree.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/ranges.h>

#include "topology/link_rates.hpp"

namespace crossdock {
namespace {

using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

static_assert(HWLOC_API_VERSION >= 0x00020100,
              "hwloc 2.1 has distances by name and the Bridge objects used here");

constexpr int kPciDepthMax =
    64;  // PCI buses are numbered in a byte, and bridges seldom nest beyond eight
constexpr unsigned kClassEthernet = 0x0200;
constexpr unsigned kClassNvme = 0x0108;
constexpr unsigned kClassVga = 0x0300;
constexpr unsigned kClass3d = 0x0302;
constexpr unsigned kClassDisplay = 0x0380;      // AMD's Instinct up to MI250
constexpr unsigned kClassAccelerator = 0x1200;  // and from MI300 on
constexpr unsigned kClassBridgeOther = 0x0680;
constexpr unsigned kVendorNvidia = 0x10de;
constexpr unsigned kVendorAmd = 0x1002;
// What servers show their console with: of the vendor of GPUs, and none. Rage XL, RV100 and two ES1000.
constexpr unsigned short kConsoleDisplays[] = {0x4752, 0x5159, 0x515e, 0x5969};

std::string bus_id_of(const PciAttributes& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:01x}", pci.domain, pci.bus, pci.dev, pci.func);
}

const PciAttributes* pci_of(hwloc_obj_t object) {
  if (object->type == HWLOC_OBJ_PCI_DEVICE) return &object->attr->pcidev;
  const bool is_pci_bridge = object->type == HWLOC_OBJ_BRIDGE &&
                             object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
  return is_pci_bridge ? &object->attr->bridge.upstream.pci : nullptr;
}

std::string info_of(hwloc_obj_t object, const char* name) {
  const char* value = hwloc_obj_get_info_by_name(object, name);
  return value == nullptr ? "" : std::string(value).substr(0, kNameBytesMax);
}

// The operating system's device of one of these types below a PCI device, or null.
hwloc_obj_t os_device(hwloc_obj_t pci, std::initializer_list<hwloc_obj_osdev_type_t> types) {
  for (const hwloc_obj_osdev_type_t type : types) {
    for (hwloc_obj_t child = pci->io_first_child; child != nullptr; child = child->next_sibling) {
      if (child->type == HWLOC_OBJ_OS_DEVICE && child->attr->osdev.type == type && child->name)
        return child;
    }
  }
  return nullptr;
}

bool is_gpu(const PciAttributes& pci) {
  const unsigned kind = pci.class_id;
  if (kind == kClass3d) return true;
  if (pci.vendor_id == kVendorNvidia) return kind == kClassVga;
  if (pci.vendor_id != kVendorAmd || std::ranges::count(kConsoleDisplays, pci.device_id) > 0)
    return false;
  return kind == kClassVga || kind == kClassDisplay || kind == kClassAccelerator;
}

struct Device {
  VertexKind kind;
  std::string name;  // of the operating system; "" where it has none
};

// What a PCI device is in the graph; nothing for devices that move no data of ours, and for NICs without a driver, such
// as virtual functions that were handed to a guest.
std::optional<Device> device_of(hwloc_obj_t object) {
  if (object->type != HWLOC_OBJ_PCI_DEVICE) return std::nullopt;
  const PciAttributes& pci = object->attr->pcidev;
  // hwloc's NVML plugin names NVSwitches, also those whose PCI class cannot be read.
  if (object->subtype != nullptr && std::string_view(object->subtype) == "NVSwitch") {
    return Device{VertexKind::kNvswitch, ""};
  }
  if (is_gpu(pci)) return Device{VertexKind::kGpu, ""};
  if (pci.class_id >> 8 == kClassEthernet >> 8) {
    const hwloc_obj_t port =
        os_device(object, {HWLOC_OBJ_OSDEV_OPENFABRICS, HWLOC_OBJ_OSDEV_NETWORK});
    if (port == nullptr) return std::nullopt;
    return Device{VertexKind::kNic, port->name};
  }
  if (pci.class_id == kClassNvme) {
    const hwloc_obj_t block = os_device(object, {HWLOC_OBJ_OSDEV_BLOCK});
    return Device{VertexKind::kDrive, block == nullptr ? "" : block->name};
  }
  if (pci.class_id == kClassBridgeOther && pci.vendor_id == kVendorNvidia) {
    return Device{VertexKind::kNvswitch, ""};
  }
  return std::nullopt;
}

class TreeReader {
 public:
  TreeReader(hwloc_topology_t topology, const DeviceFacts& facts)
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
      merge_nvml(*facts_.nvml, !has_nvlinks_, found_);
      has_nvlinks_ = has_nvlinks_ || facts_.nvml->tells_nvlinks;
    }
    drop_lonely_nvswitches();
    connect_nics();
    say_what_is_missing();
    return std::move(found_);
  }

 private:
  // What is known of a chain of PCIe links.
  struct Lanes {
    double bytes_per_s = std::numeric_limits<double>::infinity();
    int width = 0;
    int full_width = 0;
  };

  void note(std::string probe, std::string what) {
    found_.notes.push_back({std::move(probe), std::move(what)});
  }
  VertexIndex add_vertex(VertexKind kind, std::string name, const PciAttributes* pci) {
    Vertex vertex;
    vertex.kind = kind;
    vertex.name = std::move(name);
    if (pci != nullptr) vertex.bus_id = bus_id_of(*pci);
    return found_.parts.add(std::move(vertex));
  }
  bool is_full() const { return found_.parts.vertices.size() >= kServerVerticesMax; }

  void add_numa_nodes() {
    hwloc_obj_t node = nullptr;
    int without_cores = 0;
    while ((node = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
      if (node->cpuset == nullptr || hwloc_bitmap_iszero(node->cpuset) || is_full()) {
        ++without_cores;  // memory of a GPU, or memory alone
        continue;
      }
      const VertexIndex cpu =
          add_vertex(VertexKind::kCpu, fmt::format("cpu{}", node->os_index), nullptr);
      Vertex& vertex = found_.parts.vertices[cpu];
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
          found_.parts.connect(cpu, other, assumed(LinkKind::kSocket, kAssumedLinkBytesPerS));
      }
    }
    if (cpu_of_node_.size() < 2) return;
    note("hwloc",
         fmt::format("what NUMA nodes carry between each other is not told by any probe; {:g} GB/s "
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
    std::optional<PciLanes> told;
    if (facts_.lanes) told = facts_.lanes(bus_id_of(*pci));
    const double bytes_per_s = told ? told->bytes_per_s : pci->linkspeed * 1e9;
    if (bytes_per_s > 0) lanes.bytes_per_s = std::min(lanes.bytes_per_s, bytes_per_s);
    const auto least = [](int a, int b) {
      return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
    };
    if (told) lanes.width = least(lanes.width, told->width);
    if (told) lanes.full_width = least(lanes.full_width, told->full_width);
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
    found_.parts.connect(above, below, edge);
    found_.parts.vertices[below].numa_node = found_.parts.vertices[above].numa_node;
  }

  // Everything below `object`, which hangs on `above` by `lanes`.
  void walk(hwloc_obj_t object, VertexIndex above, Lanes lanes, int depth) {
    if (depth > kPciDepthMax || is_full()) return;
    lanes = narrowed(lanes, object);
    if (const std::optional<Device> device = device_of(object)) {
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
    if (children.size() > 1 && !is_host) {
      const VertexIndex hub =
          add_vertex(VertexKind::kPcieSwitch, fmt::format("pcie{}", switches_++), pci_of(object));
      connect_pcie(above, hub, lanes);
      above = hub;
      lanes = Lanes();
    }
    for (const hwloc_obj_t child : children) walk(child, above, lanes, depth + 1);
  }

  void add_device(hwloc_obj_t object, const Device& device, VertexIndex above, const Lanes& lanes) {
    const PciAttributes& pci = object->attr->pcidev;
    std::string name = device.name;
    if (device.kind == VertexKind::kGpu) name = fmt::format("gpu{}", gpus_++);
    if (device.kind == VertexKind::kNvswitch) name = "nvswitch";
    if (name.empty() || names_.contains(name))
      name = fmt::format("{}-{}", kind_name(device.kind), bus_id_of(pci));
    names_.emplace(name, above);
    const VertexIndex vertex = add_vertex(device.kind, name.substr(0, kNameBytesMax), &pci);
    found_.parts.vertices[vertex].model = info_of(object, "PCIDevice");
    vertex_of_.emplace(object, vertex);
    above_.emplace(vertex, above);
    if (device.kind != VertexKind::kNvswitch) connect_pcie(above, vertex, lanes);
    if (device.kind == VertexKind::kNic) nics_.push_back({vertex, object, lanes});
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
        if (!is_trunk) found_.parts.edges.push_back(edge);
      }
    }
    hwloc_distances_release(topology_, distances);
  }

  VertexKind kind(VertexIndex vertex) const { return found_.parts.vertices[vertex].kind; }

  // Of a PCI device, of an operating system's device on it, or of the CPU that an NVLink of POWER ends at.
  std::optional<VertexIndex> vertex_at(hwloc_obj_t object) const {
    for (; object != nullptr; object = object->parent) {
      const auto found = vertex_of_.find(object);
      if (found != vertex_of_.end()) return found->second;
      if (object->nodeset == nullptr) continue;
      const auto cpu =
          cpu_of_node_.find(static_cast<unsigned>(hwloc_bitmap_first(object->nodeset)));
      if (cpu != cpu_of_node_.end()) return cpu->second;
    }
    return std::nullopt;
  }

  // An NVSwitch of which no link is known would only stand about.
  void drop_lonely_nvswitches() {
    std::vector<bool> is_linked(found_.parts.vertices.size());
    for (const Edge& edge : found_.parts.edges) is_linked[edge.from] = is_linked[edge.to] = true;
    std::vector<VertexIndex> place(found_.parts.vertices.size());
    std::vector<Vertex> kept;
    for (size_t i = 0; i < is_linked.size(); ++i) {
      place[i] = static_cast<VertexIndex>(kept.size());
      const bool is_lonely =
          !is_linked[i] && found_.parts.vertices[i].kind == VertexKind::kNvswitch;
      if (is_lonely)
        ++dropped_nvswitches_;
      else
        kept.push_back(found_.parts.vertices[i]);
    }
    if (dropped_nvswitches_ == 0) return;
    for (Edge& edge : found_.parts.edges) edge.from = place[edge.from], edge.to = place[edge.to];
    for (Nic& nic : nics_) nic.vertex = place[nic.vertex];
    std::map<VertexIndex, VertexIndex> above;
    for (const auto& [vertex, parent] : above_) above.emplace(place[vertex], place[parent]);
    above_ = std::move(above);
    found_.parts.vertices = std::move(kept);
  }

  struct Nic {
    VertexIndex vertex;
    hwloc_obj_t object;
    Lanes lanes;
  };

  void connect_nics() {
    if (nics_.empty() || is_full()) return;
    std::optional<VertexIndex> network;
    for (const Nic& nic : nics_) {
      const std::string name = found_.parts.vertices[nic.vertex].name;
      std::optional<PortState> port;
      if (facts_.port) port = facts_.port(name);
      if (port && !port->is_up) {
        note("sysfs", fmt::format("{} is down and has no link to the network", name));
        continue;
      }
      const bool is_known = port && port->bytes_per_s > 0;
      if (!is_known) unknown_ports_.push_back(name);
      if (!network) network = found_.parts.add(VertexKind::kNetwork, "network");
      found_.parts.connect(nic.vertex,
                           *network,
                           is_known ? plain_link(LinkKind::kNetwork, port->bytes_per_s)
                                    : assumed(LinkKind::kNetwork, kAssumedNetworkBytesPerS));
      if (facts_.has_gpu_peer_memory) connect_directly(nic);
    }
  }

  // To the GPUs under the same switch, where peer traffic need not pass the CPU.
  void connect_directly(const Nic& nic) {
    if (os_device(nic.object, {HWLOC_OBJ_OSDEV_OPENFABRICS}) == nullptr) return;
    const VertexIndex above = above_.at(nic.vertex);
    if (kind(above) != VertexKind::kPcieSwitch) return;
    for (const auto& [gpu, parent] : above_) {
      if (parent != above || kind(gpu) != VertexKind::kGpu) continue;
      Edge edge = nic.lanes.bytes_per_s < std::numeric_limits<double>::infinity()
                    ? plain_link(LinkKind::kNicDirect, nic.lanes.bytes_per_s)
                    : assumed(LinkKind::kNicDirect, kAssumedLinkBytesPerS);
      found_.parts.connect(nic.vertex, gpu, edge);
    }
  }

  void say_what_is_missing() {
    if (unplaced_bridges_ > 0) {
      note("hwloc",
           fmt::format("{} PCIe host bridges belong to no NUMA node in particular; they are placed "
                       "at the first",
                       unplaced_bridges_));
    }
    if (unknown_lanes_ > 0) {
      note("sysfs",
           fmt::format("{} PCIe links tell no speed, as in virtual machines; {:g} GB/s are assumed",
                       unknown_lanes_,
                       kAssumedLinkBytesPerS / 1e9));
    }
    if (!unknown_ports_.empty()) {
      note("sysfs",
           fmt::format("the speed of {} is not told; {:g} Gb/s are assumed",
                       fmt::join(unknown_ports_, ", "),
                       kAssumedNetworkBytesPerS * 8 / 1e9));
    }
    if (gpus_ > 0 && !has_nvlinks_)
      note("hwloc", "NVLinks are not told; GPUs are joined by PCIe alone");
    if (dropped_nvswitches_ > 0 && !has_nvlinks_) {
      note("hwloc",
           fmt::format("{} NVSwitches have no known links and are left out", dropped_nvswitches_));
    }
    if (gpus_ > 0 && !nics_.empty() && !facts_.has_gpu_peer_memory) {
      note("sysfs",
           facts_.port
               ? "nvidia_peermem is not loaded, so NICs are taken not to access GPU memory; load "
                 "it for NIC-direct"
               : "whether NICs access GPU memory is not told; no NIC-direct edges are made");
    }
  }

  hwloc_topology_t topology_;
  const DeviceFacts& facts_;
  Discovery found_;
  std::map<unsigned, VertexIndex> cpu_of_node_;
  std::map<hwloc_obj_t, VertexIndex> vertex_of_;
  std::map<VertexIndex, VertexIndex> above_;  // of devices: what they hang on
  std::map<std::string, VertexIndex> names_;
  std::vector<Nic> nics_;
  std::vector<std::string> unknown_ports_;
  int switches_ = 0;
  int gpus_ = 0;
  int unplaced_bridges_ = 0;
  int unknown_lanes_ = 0;
  int dropped_nvswitches_ = 0;
  bool has_nvlinks_ = false;
};

}  // namespace

Result<Discovery> parts_of_hwloc(hwloc_topology_t topology, const DeviceFacts& facts) {
  return TreeReader(topology, facts).read();
}

}  // namespace crossdock
