// Sockets, sendmsg and recvmsg.
#include "data/transports/packet_socket.hpp"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/text_fields.hpp"
#include "data/transports/system_error.hpp"

namespace crossdock::transports {
namespace {

// The kernel fills whole 8-byte words: room for one descriptor is room for two, so several must be expected.
constexpr size_t kPassedMax = 4;

struct AbstractName {
  sockaddr_un address{};
  socklen_t bytes = 0;
};

AbstractName abstract_name(const RandomBytes& name) {
  AbstractName socket;
  socket.address.sun_family = AF_UNIX;
  std::string text(1, '\0');  // a first byte of 0 makes it abstract
  text += "crossdock-" + hex_of(name);
  std::memcpy(socket.address.sun_path, text.data(), text.size());
  socket.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
  return socket;
}

// Owns all descriptors that came with a message, so that none is left open.
void take_descriptors(msghdr& message, Packet& packet) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      Descriptor taken(fd);
      if (packet.passed) {
        packet.is_broken = true;
      } else {
        packet.passed = std::move(taken);
      }
    }
  }
}

}  // namespace

Result<Descriptor> make_packet_socket() {
  Descriptor fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error("no socket between processes of this host", errno);
  return fd;
}

Result<Descriptor> listen_at(const RandomBytes& name, int backlog) {
  CD_ASSIGN(Descriptor fd, make_packet_socket());
  const AbstractName at = abstract_name(name);
  const auto* const address = reinterpret_cast<const sockaddr*>(&at.address);
  if (::bind(fd.get(), address, at.bytes) != 0 || ::listen(fd.get(), backlog) != 0) {
    return system_error("no listening socket between processes of this host", errno);
  }
  return fd;
}

int connect_to(int fd, const RandomBytes& name) {
  const AbstractName at = abstract_name(name);
  const auto* const address = reinterpret_cast<const sockaddr*>(&at.address);
  return ::connect(fd, address, at.bytes) == 0 ? 0 : errno;
}

PeerProcess process_at(int fd) {
  ucred who{};
  socklen_t bytes = sizeof who;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) return {UINT32_MAX, 0};
  return {who.uid, who.pid};
}

Sent send_packet(int fd, std::span<const std::byte> bytes, int passed) {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (passed >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &passed, sizeof(int));
  }
  while (true) {
    if (::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return Sent::kDone;
    switch (errno) {
      case EINTR:
        continue;
      case EAGAIN:
        return Sent::kNotNow;
      case ETOOMANYREFS:
      case ENOMEM:
      case ENOBUFS:
        return Sent::kShort;
      case EPIPE:
      case ECONNRESET:
      case ENOTCONN:
        return Sent::kGone;
      default:
        return Sent::kRefused;
    }
  }
}

PacketOutcome receive_packet(int fd, Packet& packet) {
  packet.passed.close();
  packet.is_broken = false;
  packet.has_lost_descriptor = false;
  iovec part{packet.bytes, sizeof packet.bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(kPassedMax * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t count = -1;
  // ECONNRESET comes once, before what the other end had sent: there may be more.
  do {
    count = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (count < 0 && (errno == EINTR || errno == ECONNRESET));
  if (count < 0) return errno == EAGAIN ? PacketOutcome::kNothing : PacketOutcome::kGone;
  take_descriptors(message, packet);
  if (count == 0) return PacketOutcome::kGone;
  packet.size = static_cast<size_t>(count);
  if ((message.msg_flags & MSG_TRUNC) != 0) packet.is_broken = true;
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    (packet.passed ? packet.is_broken : packet.has_lost_descriptor) = true;
  }
  return PacketOutcome::kPacket;
}

}  // namespace crossdock::transports
