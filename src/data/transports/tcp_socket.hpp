// Sockets of TCP that never block.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace crossdock {

// `ip`: 4 or 16 bytes in network order. CD-201, CD-603, CD-105 for anything else.
Result<Descriptor> listen_on(const std::string& ip);
// Of a socket that listens; 0 if the system does not say.
uint16_t port_of(int fd);
// From the NIC that has the one address towards the other; the connection is there once the socket can be written to.
Result<Descriptor> connect_from(const std::string& ip, const std::string& peer_ip, uint16_t port);
// Of the next that calls; none: nobody does just now.
Descriptor accept_at(int fd);

}  // namespace crossdock
