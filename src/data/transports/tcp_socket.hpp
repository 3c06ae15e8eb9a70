// Sockets of TCP that never block.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace crossdock::transports {

// `ip`: 4 or 16 bytes in network order. CD-201, CD-603, CD-105 for anything else.
Result<Descriptor> listen_on(const std::string& ip);
// Of a socket that listens; 0 if the system does not say.
uint16_t port_of(int fd);
// From the NIC that has the one address towards the other; the connection is there once the socket can be written to.
// It is over when the other side's kernel has not answered for lost_after_s, whether bytes are under way or not.
Result<Descriptor> connect_from(const std::string& ip,
                                const std::string& peer_ip,
                                uint16_t port,
                                double lost_after_s);
// Of the next that calls, likewise; none: no peer does just now.
Descriptor accept_at(int fd, double lost_after_s);

}  // namespace crossdock::transports
