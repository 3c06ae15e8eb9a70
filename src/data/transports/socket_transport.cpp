#include "data/transports/socket_transport.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <functional>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unordered_map>

#include "base/descriptor.hpp"
#include "data/transports/host_address.hpp"
#include "data/transports/network_devices.hpp"
#include "data/transports/socket_link.hpp"
#include "data/transports/system_error.hpp"
#include "data/transports/tcp_socket.hpp"

namespace crossdock::transports {
namespace {

constexpr size_t kWasteBytes = size_t{64} << 10;
constexpr size_t kEventsMax = 64;
// Connections that have not said whose they are; when there are more, the oldest is closed.
constexpr size_t kStrangersMax = 256;
// A peer that is well takes what was sent in much less; one that is not would keep us for ever.
constexpr std::chrono::seconds kFarewell{1};

// What epoll tells of: the kind in the upper half, a number in the lower.
enum class Watched : uint32_t { kListener = 1, kStranger = 2, kLink = 3 };
uint64_t tag(Watched kind, uint32_t number) { return uint64_t(kind) << 32 | number; }

// A connection that has not greeted yet.
struct Stranger {
  Descriptor socket;
  uint32_t number = 0;
  SocketGreeting greeting;
  size_t bytes = 0;  // of the greeting
};

class SocketTransport : public Transport {
 public:
  explicit SocketTransport(const SocketSettings& settings) : settings_(settings) {}
  ~SocketTransport() override;
  Status open();

  rings::Step progress(LinkEvents& events) override;
  bool arm() override;
  int wait_fd() const override { return epoll_.get(); }
  std::vector<Link*> links() override;
  std::string address() const override { return format_address(self_); }
  Result<std::vector<Unreached>> connect(std::span<const std::string> addresses) override;

 private:
  Status watch(int fd, uint64_t tagged, uint32_t events, int operation = EPOLL_CTL_ADD);
  bool connect_to(PeerIndex peer, const HostAddress& address);
  void call(SocketLink& link, const DevicePair& pair, const HostAddress& address);
  bool take_events();
  void take_callers(const Descriptor& listener);
  void hear(uint32_t number);
  void introduce(Stranger stranger);
  void progress_until(const std::function<bool()>& is_done);

  SocketSettings settings_;
  HostAddress self_;
  Descriptor epoll_;
  std::vector<std::byte> waste_;
  std::vector<Descriptor> listeners_;  // by device
  std::vector<double> rates_;          // likewise
  std::deque<Stranger> strangers_;     // the oldest first
  uint32_t next_stranger_ = 0;
  std::vector<std::unique_ptr<SocketLink>> links_;
  std::unordered_map<uint64_t, SocketLink*>
      callers_;  // those who wait, by the key they are greeted with
};

Status SocketTransport::watch(int fd, uint64_t tagged, uint32_t events, int operation) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = tagged;
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) == 0) return {};
  return system_error("a socket cannot be waited for", errno);
}

Status SocketTransport::open() {
  CD_ASSIGN(std::vector<NetworkDevice> interfaces, list_interfaces());
  CD_ASSIGN(const std::vector<NetworkDevice> devices,
            choose_devices(std::move(interfaces),
                           wanted_devices(settings_.devices),
                           "/sys",
                           RdmaDevices::kAsInterfaces));
  CD_ASSIGN(self_, new_address(devices.size()));
  waste_.resize(kWasteBytes);
  epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return system_error("links cannot be waited for", errno);
  for (const NetworkDevice& device : devices) {
    CD_ASSIGN(Descriptor listener, listen_on(device.ip));
    CD_TRY(watch(listener.get(),
                 tag(Watched::kListener, static_cast<uint32_t>(listeners_.size())),
                 EPOLLIN));
    const uint16_t port = port_of(listener.get());
    const char bytes[] = {static_cast<char>(port >> 8), static_cast<char>(port & 0xFF)};
    self_.devices.push_back(address_of(device, std::string(bytes, sizeof bytes)));
    listeners_.push_back(std::move(listener));
    rates_.push_back(device.rate_bytes_per_s);
  }
  return {};
}

Result<std::vector<Unreached>> SocketTransport::connect(std::span<const std::string> addresses) {
  return connect_each(self_, addresses, [this](PeerIndex peer, const HostAddress& address) {
    return connect_to(peer, address);
  });
}

// False: nothing leads there.
bool SocketTransport::connect_to(PeerIndex peer, const HostAddress& address) {
  const std::vector<DevicePair> pairs = pair_devices(self_, address);
  const bool is_opener = opens_links(self_, address);
  for (const DevicePair& pair : pairs) {
    SocketLinkSpec spec;
    spec.index = static_cast<LinkIndex>(links_.size());
    spec.peer = peer;
    spec.device = self_.devices[pair.mine].name;
    spec.peer_device = address.devices[pair.theirs].name;
    spec.rate_bytes_per_s = rates_[pair.mine];
    // Of several NICs here that share one there, each has a key of its own, both ways.
    spec.key = link_key(self_, pair.mine, address, pair.theirs);
    spec.peer_key = link_key(address, pair.theirs, self_, pair.mine);
    spec.bytes_under_way = settings_.link_bytes_under_way;
    spec.waste = waste_;
    SocketLink& link = *links_.emplace_back(std::make_unique<SocketLink>(std::move(spec)));
    if (is_opener) {
      call(link, pair, address);
    } else {
      callers_.emplace(link.peer_key(), &link);
    }
  }
  return !pairs.empty();
}

// A link that cannot be connected is a lost one, since another may do.
void SocketTransport::call(SocketLink& link, const DevicePair& pair, const HostAddress& address) {
  const HostAddress::Device& there = address.devices[pair.theirs];
  if (there.reached_by.size() != 2) return link.fail("its address has no port");
  const auto port = static_cast<uint16_t>(static_cast<uint8_t>(there.reached_by[0]) << 8 |
                                          static_cast<uint8_t>(there.reached_by[1]));
  auto socket = connect_from(self_.devices[pair.mine].ip, there.ip, port, settings_.lost_after_s);
  if (!socket.ok()) return link.fail(socket.error().message);
  const int fd = socket.value().get();
  link.connect(std::move(socket.value()));
  const Status watched = watch(fd,
                               tag(Watched::kLink, static_cast<uint32_t>(links_.size() - 1)),
                               EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
  if (!watched.ok()) link.fail(watched.error().message);
}

std::vector<Link*> SocketTransport::links() {
  std::vector<Link*> all;
  for (const auto& link : links_) all.push_back(link.get());
  return all;
}

// Of links epoll tells changes only, so that one that has room for more costs no calls.
bool SocketTransport::take_events() {
  std::array<epoll_event, kEventsMax> ready;
  const int count = ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) {
    const uint64_t tagged = ready[static_cast<size_t>(i)].data.u64;
    const auto number = static_cast<uint32_t>(tagged);
    switch (static_cast<Watched>(tagged >> 32)) {
      case Watched::kListener:
        take_callers(listeners_[number]);
        break;
      case Watched::kStranger:
        hear(number);
        break;
      case Watched::kLink:
        links_[number]->take_events(ready[static_cast<size_t>(i)].events);
        break;
    }
  }
  return count > 0;
}

void SocketTransport::take_callers(const Descriptor& listener) {
  for (size_t i = 0; i < kStrangersMax; ++i) {
    Descriptor socket = accept_at(listener.get(), settings_.lost_after_s);
    if (!socket) return;
    Stranger stranger;
    stranger.number = next_stranger_++;
    const int fd = socket.get();
    stranger.socket = std::move(socket);
    if (!watch(fd, tag(Watched::kStranger, stranger.number), EPOLLIN).ok()) continue;
    if (strangers_.size() == kStrangersMax) strangers_.pop_front();
    strangers_.push_back(std::move(stranger));
  }
}

void SocketTransport::hear(uint32_t number) {
  const auto entry = std::ranges::find_if(
      strangers_, [number](const Stranger& one) { return one.number == number; });
  if (entry == strangers_.end()) return;
  Stranger& stranger = *entry;
  auto* const at = reinterpret_cast<std::byte*>(&stranger.greeting) + stranger.bytes;
  const ssize_t got =
      ::recv(stranger.socket.get(), at, sizeof stranger.greeting - stranger.bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  stranger.bytes += got > 0 ? static_cast<size_t>(got) : 0;
  if (got > 0 && stranger.bytes < sizeof stranger.greeting) return;
  Stranger known = std::move(stranger);
  strangers_.erase(entry);
  if (got > 0) introduce(std::move(known));  // or it has gone
}

// A caller without a link's key is no peer, and a link has one connection.
void SocketTransport::introduce(Stranger stranger) {
  if (stranger.greeting.magic != kSocketMagic) return;
  const auto entry = callers_.find(stranger.greeting.key);
  if (entry == callers_.end() || entry->second->is_over()) return;
  SocketLink& link = *entry->second;
  callers_.erase(entry);
  const auto place =
      std::ranges::find_if(links_, [&link](const auto& one) { return one.get() == &link; });
  const Status watched = watch(stranger.socket.get(),
                               tag(Watched::kLink, static_cast<uint32_t>(place - links_.begin())),
                               EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                               EPOLL_CTL_MOD);
  if (!watched.ok()) return link.fail(watched.error().message);
  link.accept(std::move(stranger.socket));
}

rings::Step SocketTransport::progress(LinkEvents& events) {
  bool moved = take_events();
  for (const auto& link : links_) {
    if (link->has_socket()) moved |= link->turn(&events);
    if (!link->is_failing()) continue;
    link->tell_lost(events);
    moved = true;
  }
  return moved ? rings::Step::kProgress : rings::Step::kIdle;
}

// A change that came while its socket was read would wake for nothing.
bool SocketTransport::arm() {
  (void)take_events();
  return std::ranges::none_of(links_, [](const auto& link) { return link->has_work(); });
}

void SocketTransport::progress_until(const std::function<bool()>& is_done) {
  const auto deadline = std::chrono::steady_clock::now() + kFarewell;
  while (!is_done() && std::chrono::steady_clock::now() < deadline) {
    pollfd any = {.fd = epoll_.get(), .events = POLLIN, .revents = 0};
    if (arm() && ::poll(&any, 1, 1) > 0) (void)take_events();
    for (const auto& link : links_) {
      if (link->has_socket()) (void)link->turn(nullptr);
    }
  }
}

// What was said last, such as that all has arrived, still reaches the peers' kernels: a socket that is closed while it
// has bytes that were not read throws away what it has not sent.
SocketTransport::~SocketTransport() {
  progress_until([this] {
    return std::ranges::all_of(links_, [](const auto& link) { return link->is_drained(); });
  });
  for (const auto& link : links_) link->finish();
}

}  // namespace

Result<std::unique_ptr<Transport>> open_socket_transport(const SocketSettings& settings) {
  auto transport = std::make_unique<SocketTransport>(settings);
  CD_TRY(transport->open());
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace crossdock::transports
