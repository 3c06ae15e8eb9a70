// Links over networks: UCX, with a context of its own for each NIC. What it needs of UCX lies in a plugin,
// libcrossdock_ucx.so, so that a process that stays on one host needs no UCX.
//
// Ethernet is used through TCP, an RDMA device through the verbs; the user's UCX_* variables go before what is set
// here. docs/transports.md has the details.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/transports/link.hpp"

namespace crossdock::transports {

struct UcxSettings {
  // NICs to use, as the kernel names them: "eth0" (TCP), "mlx5_0:1" (RDMA device and port). Empty: those of
  // UCX_NET_DEVICES, or all that are up and have an address, and loopback if there is no other.
  std::vector<std::string> devices;
  // Payloads of puts that a link may have under way; one put is always let in.
  int64_t link_bytes_under_way = int64_t{8} << 20;
};

// CD-105 if there is no such device, or the plugin is missing, with what to install; CD-603 with UCX's own words if it
// does not start.
Result<std::unique_ptr<Transport>> open_ucx_transport(const UcxSettings& settings);

// What the plugin exports as crossdock_open_ucx.
using OpenUcx = void(const UcxSettings& settings, Result<std::unique_ptr<Transport>>* answer);

}  // namespace crossdock::transports
