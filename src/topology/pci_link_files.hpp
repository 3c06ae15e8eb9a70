// The kernel's files about links: PCIe lanes, Ethernet and InfiniBand ports. Each answer may be missing.
#pragma once

#include <optional>
#include <string>

namespace crossdock::topology {

struct PciLanes {
  double bytes_per_s = 0;  // at the width and speed in use
  // At the width in use and the highest speed of this end; 0 where not known.
  double top_bytes_per_s = 0;
  int width = 0;
  int full_width = 0;  // the most that this end can do
};

// Of the device at a PCI address, from <sysfs>/bus/pci/devices. Nothing where the kernel does not say, as for devices
// of virtual machines and of bridges inside a CPU.
std::optional<PciLanes> read_pci_lanes(const std::string& sysfs, const std::string& bus_id);

struct PortState {
  bool is_up = false;      // or of a driver that does not tell, as some of bonds and tunnels
  double bytes_per_s = 0;  // 0 where the kernel does not say
};

// Of a network interface ("eth0", from <sysfs>/class/net) or an RDMA device ("mlx5_0", from <sysfs>/class/infiniband,
// the sum over its ports). Nothing where there is no such device.
std::optional<PortState> read_port(const std::string& sysfs, const std::string& device);

// Whether the kernel lets RDMA devices read and write GPU memory (nvidia_peermem is loaded).
bool has_gpu_peer_memory(const std::string& sysfs);

}  // namespace crossdock::topology
