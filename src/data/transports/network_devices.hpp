// The NICs of this host, and which of them to use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace crossdock::transports {

struct NetworkDevice {
  std::string name;             // as UCX names it: "eth0", or "mlx5_0:1" for an RDMA device
  std::string interface;        // of the kernel; "" for an RDMA device that has none
  std::string ip;               // 4 or 16 bytes, in network order; "" if it has none
  int prefix_bits = 0;          // of the network
  double rate_bytes_per_s = 0;  // 0: unknown
  bool is_rdma = false;
  bool is_loopback = false;
  bool is_routed = false;  // the kernel sends to other networks over it

  // As the kernel names the NIC: "eth0", "mlx5_0".
  std::string kernel_name() const { return name.substr(0, name.find(':')); }
};

// All interfaces that are up and running and have an address, of this network namespace, in the kernel's order.
// CD-603 with the system's reason.
Result<std::vector<NetworkDevice>> list_interfaces();

// What the user asked UCX to use (UCX_NET_DEVICES), where `devices` names none; empty: all.
std::vector<std::string> wanted_devices(const std::vector<std::string>& devices);

enum class RdmaDevices : uint8_t { kPreferred, kAsInterfaces };
// Those to use. `names` empty: all but loopback, or loopback if there is no other; where RDMA is preferred, an
// interface whose NIC is an RDMA device with an active port stands for that port. Else the named ones: interfaces
// (through TCP) or, likewise, RDMA ports. Rates are filled in. `sysfs`: "/sys". CD-105 with what there is, if a name is
// unknown or there is nothing.
Result<std::vector<NetworkDevice>> choose_devices(std::vector<NetworkDevice> interfaces,
                                                  const std::vector<std::string>& names,
                                                  const std::string& sysfs,
                                                  RdmaDevices rdma = RdmaDevices::kPreferred);

}  // namespace crossdock::transports
