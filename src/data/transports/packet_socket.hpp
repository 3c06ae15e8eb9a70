// Whole messages with at most one descriptor over a connection inside a host (SOCK_SEQPACKET), never blocking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/types.h>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "data/transports/neighbour_address.hpp"

namespace crossdock::transports {

inline constexpr size_t kPacketBytesMax = 1280;

// A socket that listens at an abstract address, which vanishes with it; or one that is not connected yet.
Result<Descriptor> listen_at(const RandomBytes& name, int backlog);
Result<Descriptor> make_packet_socket();
// 0, or an errno: EAGAIN if the other end has too many callers just now, ECONNREFUSED if no process listens.
int connect_to(int fd, const RandomBytes& name);

struct PeerProcess {
  uint32_t user = 0;
  pid_t process = 0;  // 0: in a namespace that this process cannot see into
};
// Who was at the other end when the connection was made.
PeerProcess process_at(int fd);

enum class Sent : uint8_t { kDone, kNotNow, kShort, kGone, kRefused };
// kNotNow: the other end has not taken enough; the socket tells when it has. kShort: the system has run out of memory
// or of descriptors that may be under way between processes, which passes. kRefused: it will not do it. Both with
// errno. `passed`: -1 for none.
Sent send_packet(int fd, std::span<const std::byte> bytes, int passed);

struct Packet {
  alignas(8) std::byte bytes[kPacketBytesMax];
  size_t size = 0;
  Descriptor passed;
  bool is_broken = false;            // it was longer, or had several descriptors
  bool has_lost_descriptor = false;  // this process may not hold more
};
enum class PacketOutcome : uint8_t { kPacket, kNothing, kGone };
PacketOutcome receive_packet(int fd, Packet& packet);

}  // namespace crossdock::transports
