// A topology of hwloc as the parts of a server. Private to discovery.
#pragma once

#include <functional>
#include <hwloc.h>
#include <optional>

#include "topology/discovery.hpp"
#include "topology/nvml_probe.hpp"
#include "topology/pci_link_files.hpp"

namespace crossdock::topology {

// What is asked about devices beside hwloc; a question that cannot be asked is empty.
struct DeviceProbes {
  std::function<std::optional<PciLanes>(const std::string& bus_id)> lanes;
  std::function<std::optional<PortState>(const std::string& device)> port;
  bool has_gpu_peer_memory = false;
  const NvmlAnswer* nvml = nullptr;  // null where NVML is not asked
};

// Error kInvalidTopology: no NUMA node with cores.
Result<Discovery> parts_of_hwloc(hwloc_topology_t topology, const DeviceProbes& facts);

}  // namespace crossdock::topology
