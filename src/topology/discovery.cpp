// Starts hwloc on this host or on an XML text, and hands its topology on.
#include "topology/discovery.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include "topology/hwloc_tree.hpp"

namespace crossdock::topology {
namespace {

constexpr int64_t kXmlBytesMax = int64_t{64} << 20;

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

// hwloc keeps silent about what it left out unless asked; errors come back as codes.
Result<Topology> new_topology() {
  hwloc_topology_t started = nullptr;
  if (hwloc_topology_init(&started) != 0) {
    return make_error(ErrorCode::kProbeFailed, "hwloc does not start: {}", std::strerror(errno));
  }
  Topology topology(started);
  hwloc_topology_set_io_types_filter(started, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  // Looking at a machine must not start its GPUs' runtimes or connect to a display, and nothing of what these would
  // tell is used.
  for (const char* part : {"cuda", "opencl", "levelzero", "gl"}) {
    hwloc_topology_set_components(started, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, part);
  }
  return topology;
}

}  // namespace

Result<Discovery> discover_host(const std::string& sysfs, const std::string& nvml) {
  CD_ASSIGN(const Topology topology, new_topology());
  if (hwloc_topology_load(topology.get()) != 0) {
    return make_error(ErrorCode::kProbeFailed,
                      "hwloc cannot look at this machine: {}. Describe it in a file instead",
                      std::strerror(errno));
  }
  DeviceProbes facts;
  facts.lanes = [&](const std::string& bus_id) { return read_pci_lanes(sysfs, bus_id); };
  facts.port = [&](const std::string& device) { return read_port(sysfs, device); };
  facts.has_gpu_peer_memory = has_gpu_peer_memory(sysfs);
  std::optional<NvmlAnswer> answer;
  if (!nvml.empty()) answer = ask_nvml_library(nvml);
  facts.nvml = answer ? &*answer : nullptr;
  return parts_of_hwloc(topology.get(), facts);
}

Result<Discovery> discover_from_hwloc_xml(std::string_view xml) {
  constexpr ErrorCode kCode = ErrorCode::kInvalidTopology;
  if (static_cast<int64_t>(xml.size()) > kXmlBytesMax) {
    return make_error(
        kCode, "the hwloc XML has {} bytes; the most is {}", xml.size(), kXmlBytesMax);
  }
  if (xml.find("<topology") == std::string_view::npos) {
    return make_error(
        kCode, "the text is no hwloc XML: it has no <topology>. `lstopo --of xml` writes one");
  }
  if (xml.find("<topology version=\"3") != std::string_view::npos) {
    return make_error(
        kCode,
        "the text is hwloc XML of version 3, which hwloc {} cannot read; export it with `lstopo "
        "--export-xml-flags v2 --of xml`",
        HWLOC_VERSION);
  }
  CD_ASSIGN(const Topology topology, new_topology());
  const std::string text(xml);  // hwloc wants a final zero, and its length with it
  const int set =
      hwloc_topology_set_xmlbuffer(topology.get(), text.c_str(), static_cast<int>(text.size() + 1));
  if (set != 0 || hwloc_topology_load(topology.get()) != 0) {
    return make_error(kCode,
                      "hwloc {} cannot read the XML: {}. Is it the whole of what lstopo wrote?",
                      HWLOC_VERSION,
                      std::strerror(errno));
  }
  return parts_of_hwloc(topology.get(), DeviceProbes());
}

}  // namespace crossdock::topology
