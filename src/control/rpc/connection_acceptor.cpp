#include "control/rpc/connection_acceptor.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <malloc.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/check.hpp"

namespace crossdock::control {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBacklog = 1024;
constexpr int kPauseMs = 50;  // after accept has failed for want of descriptors or memory
constexpr std::chrono::milliseconds kTrimInterval{500};  // between looks at what is free
constexpr size_t kFreeBytesMax = size_t{32} << 20;
constexpr rlim_t kReserved =
    64;  // descriptors for epoll, pipes, files and the other connections of the process
constexpr std::string_view kPathPrefix = "unix:";

Error cannot_listen(std::string_view address, std::string_view reason) {
  return make_error(ErrorCode::kControllerUnreachable, "cannot listen on {}: {}", address, reason);
}

// The system gives the lowest number that is free, so all below `fd` are in use.
bool leaves_reserve(int fd) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  const rlim_t reserved = std::min(kReserved, limit.rlim_cur / 4);
  return static_cast<rlim_t>(fd) + reserved < limit.rlim_cur;
}

// glibc keeps what connections have freed where anything behind it is in use: of a quota of 256 MiB, 600 MB were
// resident while callers held 272 MB.
void give_free_memory_back() {
#if defined(__GLIBC__)
  if (mallinfo2().fordblks > kFreeBytesMax) malloc_trim(0);
#endif
}

// What a server that was killed has left behind; a path that something else has is left alone.
void remove_dead_socket(const sockaddr_un& where) {
  struct stat file {};
  if (lstat(where.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return;
  const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* general = reinterpret_cast<const sockaddr*>(&where);
  if (connect(probe.get(), general, sizeof(where)) != 0 && errno == ECONNREFUSED) {
    unlink(where.sun_path);
  }
}

int port_at(int fd) {
  sockaddr_storage where{};
  socklen_t size = sizeof(where);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size) != 0) return 0;
  return ntohs(where.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(where).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(where).sin_port);
}

void set_port(sockaddr& where, int port) {
  const auto number = htons(static_cast<uint16_t>(port));
  if (where.sa_family == AF_INET6) reinterpret_cast<sockaddr_in6&>(where).sin6_port = number;
  if (where.sa_family == AF_INET) reinterpret_cast<sockaddr_in&>(where).sin_port = number;
}

}  // namespace

Result<std::unique_ptr<ConnectionAcceptor>> ConnectionAcceptor::listen(const std::string& address) {
  std::unique_ptr<ConnectionAcceptor> acceptor(new ConnectionAcceptor());
  acceptor->address_ = address;
  acceptor->stop_ = Descriptor(eventfd(0, EFD_CLOEXEC));
  if (!acceptor->stop_) return cannot_listen(address, std::strerror(errno));
  if (address.starts_with(kPathPrefix)) {
    CD_TRY(acceptor->listen_on_path(address.substr(kPathPrefix.size())));
  } else {
    CD_TRY(acceptor->listen_on_host(address));
  }
  return acceptor;
}

ConnectionAcceptor::~ConnectionAcceptor() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    CD_CHECK(write(stop_.get(), &one, sizeof(one)) == sizeof(one), "eventfd {}", stop_.get());
    thread_.join();
  }
  if (!path_.empty()) unlink(path_.c_str());
}

void ConnectionAcceptor::start(Take take) {
  thread_ = std::thread([this, take = std::move(take)] { accept_until_stopped(take); });
}

Status ConnectionAcceptor::listen_on_path(const std::string& path) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(where.sun_path)) {
    return cannot_listen(address_,
                         fmt::format("a path has 1 to {} bytes", sizeof(where.sun_path) - 1));
  }
  std::memcpy(where.sun_path, path.data(), path.size());
  remove_dead_socket(where);
  CD_TRY(listen_at(reinterpret_cast<const sockaddr&>(where), sizeof(where)));
  path_ = path;
  return {};
}

Status ConnectionAcceptor::listen_on_host(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* addresses = nullptr;
  const int failure =
      getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &addresses);
  if (failure != 0) return cannot_listen(address, gai_strerror(failure));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(addresses, &freeaddrinfo);
  Status first;
  int port = 0;
  for (addrinfo* entry = addresses; entry != nullptr; entry = entry->ai_next) {
    if (port > 0) set_port(*entry->ai_addr, port);
    Status listening = listen_at(*entry->ai_addr, entry->ai_addrlen);
    if (listening.ok()) {
      port = port_at(listeners_.back().get());
    } else if (first.ok()) {
      first = std::move(listening);
    }
  }
  if (listeners_.empty()) return first;
  address_ = fmt::format("{}:{}", address.substr(0, colon), port);
  return {};
}

Status ConnectionAcceptor::listen_at(const sockaddr& where, socklen_t size) {
  Descriptor listener(socket(where.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return cannot_listen(address_, std::strerror(errno));
  const int on = 1;
  const int off = 0;
  // Connections of the last server that still fade away are no obstacle. Accepted sockets inherit the second.
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (where.sa_family != AF_UNIX) {
    setsockopt(listener.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  if (where.sa_family == AF_INET6) {  // [::] means all addresses, those of IPv4 as well
    setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (bind(listener.get(), &where, size) != 0 || ::listen(listener.get(), kBacklog) != 0) {
    return cannot_listen(address_, std::strerror(errno));
  }
  listeners_.push_back(std::move(listener));
  return {};
}

void ConnectionAcceptor::accept_until_stopped(const Take& take) {
  std::vector<pollfd> watched{{stop_.get(), POLLIN, 0}};
  for (const Descriptor& listener : listeners_) watched.push_back({listener.get(), POLLIN, 0});
  auto next_trim = Clock::now() + kTrimInterval;
  while (true) {
    poll(watched.data(), watched.size(), static_cast<int>(kTrimInterval.count()));
    if (watched[0].revents != 0) return;
    if (Clock::now() >= next_trim) {
      give_free_memory_back();
      next_trim = Clock::now() + kTrimInterval;
    }
    bool is_short = false;
    for (size_t i = 1; i < watched.size(); ++i) {
      if (watched[i].revents != 0) is_short |= !accept_one(watched[i].fd, take);
    }
    if (is_short) poll(watched.data(), 1, kPauseMs);
  }
}

// False when the system has no descriptor or no memory for another connection, which stays in its queue then.
bool ConnectionAcceptor::accept_one(int listener, const Take& take) {
  Descriptor connection(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!connection) {
    return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
  }
  if (leaves_reserve(connection.get())) {
    take(listener, std::move(connection));
  } else {
    ++refused_;
  }
  return true;
}

}  // namespace crossdock::control
