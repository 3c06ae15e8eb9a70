#include "data/transports/tcp_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "data/transports/system_error.hpp"

namespace crossdock::transports {
namespace {

constexpr int kTcpBacklog = 1024;

struct SocketAddress {
  sockaddr_storage bytes = {};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

Result<SocketAddress> address_of(const std::string& ip, uint16_t port) {
  SocketAddress address;
  if (ip.size() == sizeof(in_addr)) {
    auto& four = reinterpret_cast<sockaddr_in&>(address.bytes);
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, ip.data(), ip.size());
    address.size = sizeof four;
    return address;
  }
  if (ip.size() == sizeof(in6_addr)) {
    auto& six = reinterpret_cast<sockaddr_in6&>(address.bytes);
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&six.sin6_addr, ip.data(), ip.size());
    address.size = sizeof six;
    return address;
  }
  return make_error(
      ErrorCode::kInvalidArgument, "an IP address has 4 or 16 bytes, and this one {}", ip.size());
}

Result<Descriptor> make_socket(const SocketAddress& address) {
  Descriptor socket(
      ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket) return system_error("no socket of TCP can be made", errno);
  if (::bind(socket.get(), address.get(), address.size) != 0) {
    return system_error("a socket of TCP cannot have the address of its NIC", errno);
  }
  return socket;
}

// Notes are waited for. A cut wire and a dead host are noticed by the kernel, also while nothing is under way: it asks
// the other kernel, which answers for a process that is stopped, too. What a connection cannot do without these it
// cannot do worse.
void prepare(int fd, double lost_after_s) {
  const auto seconds = [](double s) { return std::max(1, static_cast<int>(s)); };
  const auto set = [fd](int level, int name, int value) {
    (void)::setsockopt(fd, level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, seconds(std::min(lost_after_s * 0.4, 30.0)));
  set(IPPROTO_TCP, TCP_KEEPINTVL, seconds(std::min(lost_after_s * 0.2, 10.0)));
  constexpr double kLongestMs = 1e9;
  set(IPPROTO_TCP,
      TCP_USER_TIMEOUT,
      static_cast<int>(
          std::min(lost_after_s * 1000, kLongestMs)));  // of probes, and of bytes under way
}

}  // namespace

Result<Descriptor> listen_on(const std::string& ip) {
  CD_ASSIGN(const SocketAddress address, address_of(ip, 0));
  CD_ASSIGN(Descriptor socket, make_socket(address));
  if (::listen(socket.get(), kTcpBacklog) != 0)
    return system_error("a socket of TCP cannot listen", errno);
  return socket;
}

uint16_t port_of(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(address).sin_port
                                            : reinterpret_cast<sockaddr_in6&>(address).sin6_port);
}

Result<Descriptor> connect_from(const std::string& ip,
                                const std::string& peer_ip,
                                uint16_t port,
                                double lost_after_s) {
  CD_ASSIGN(const SocketAddress address, address_of(ip, 0));
  CD_ASSIGN(const SocketAddress peer, address_of(peer_ip, port));
  CD_ASSIGN(Descriptor socket, make_socket(address));
  prepare(socket.get(), lost_after_s);
  if (::connect(socket.get(), peer.get(), peer.size) != 0 && errno != EINPROGRESS)
    return system_error("a connection cannot be made", errno);
  return socket;
}

Descriptor accept_at(int fd, double lost_after_s) {
  Descriptor socket(::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) prepare(socket.get(), lost_after_s);
  return socket;
}

}  // namespace crossdock::transports
