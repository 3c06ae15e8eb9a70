// Which NICs a network device of this host uses, by the names that the host's graph may have for them.
#pragma once

#include <string>
#include <vector>

namespace crossdock::topology {

// A graph that was found by asking the host has one name for each NIC on PCI: that of its RDMA device ("mlx5_0"), or of
// its interface. Rows may go over a device of another name: an interface of an RDMA device, an RDMA device with its
// port ("mlx5_0:1"), or one that stands on others (a bond, a VLAN, a bridge), whose NICs are all those below it. The
// name itself is among them. `sysfs` is where the kernel's files are, "/sys"; what is not there has no further names.
std::vector<std::string> nic_names(const std::string& sysfs, const std::string& device);

}  // namespace crossdock::topology
