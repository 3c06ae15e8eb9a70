// Links over TCP without anything between Crossdock and the kernel's sockets, a connection for each pair of NICs. What
// Ethernet is used through unless UCX is asked for: it needs nothing that a system does not have, and rows are copied
// once less (socket_link.hpp). docs/transports.md has the details.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/transports/link.hpp"

namespace crossdock::transports {

struct SocketSettings {
  // Interfaces to use, as the kernel names them. Empty: all that are up and have an address, and loopback if there is
  // no other.
  std::vector<std::string> devices;
  // Payloads of puts that a link may hold that the kernel has not taken; one put is always let in.
  int64_t link_bytes_under_way = int64_t{8} << 20;
  double lost_after_s = 10;  // without an answer from the other host's kernel, a link is over
};

// CD-105 if there is no such interface; CD-201, CD-603 if the system gives no socket.
Result<std::unique_ptr<Transport>> open_socket_transport(const SocketSettings& settings);

}  // namespace crossdock::transports
