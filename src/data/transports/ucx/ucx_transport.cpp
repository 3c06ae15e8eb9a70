// The transport over UCX, and what the plugin exports.
#include "data/transports/ucx_transport.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <sys/epoll.h>
#include <unistd.h>

#include "data/transports/host_address.hpp"
#include "data/transports/network_devices.hpp"
#include "data/transports/ucx/link_news.hpp"
#include "data/transports/ucx/ucx_link.hpp"
#include "data/transports/ucx/ucx_worker.hpp"

namespace crossdock::transports {
namespace {

constexpr int kTurnsOfProgress = 8;  // of a worker, before it is another's turn
// A peer that is well takes what was sent in much less; one that is not would keep us for ever.
constexpr std::chrono::seconds kFarewell{1};

class UcxTransport : public Transport {
 public:
  explicit UcxTransport(const UcxSettings& settings) : settings_(settings) {}
  ~UcxTransport() override;
  Status open();

  rings::Step progress(LinkEvents& events) override;
  bool arm() override;
  int wait_fd() const override { return wait_fd_; }
  std::vector<Link*> links() override;
  std::string address() const override { return format_address(self_); }
  Result<std::vector<Unreached>> connect(std::span<const std::string> addresses) override;

 private:
  // False: nothing leads there.
  bool connect_to(PeerIndex peer, const HostAddress& address);
  bool settle_links(LinkEvents* events);
  void stop_worker_of(const UcxLink& overdue);
  void progress_until(const std::function<bool()>& is_done);

  UcxSettings settings_;
  HostAddress self_;
  int wait_fd_ = -1;
  LinkNews news_;
  std::vector<std::unique_ptr<UcxLink>> links_;  // what UCX works on lies in them, so they go after
  std::vector<std::unique_ptr<UcxWorker>> workers_;  // these
};

Status UcxTransport::open() {
  CD_ASSIGN(std::vector<NetworkDevice> interfaces, list_interfaces());
  CD_ASSIGN(const std::vector<NetworkDevice> devices,
            choose_devices(std::move(interfaces), wanted_devices(settings_.devices), "/sys"));
  CD_ASSIGN(self_, new_address(devices.size()));
  wait_fd_ = epoll_create1(EPOLL_CLOEXEC);
  for (const NetworkDevice& device : devices) {
    CD_ASSIGN(std::unique_ptr<UcxWorker> worker, UcxWorker::open(device));
    self_.devices.push_back(address_of(device, worker->address()));
    epoll_event readable = {};
    readable.events = EPOLLIN;
    if (wait_fd_ < 0 || epoll_ctl(wait_fd_, EPOLL_CTL_ADD, worker->event_fd(), &readable) != 0) {
      return make_error(ErrorCode::kProbeFailed,
                        "the links cannot be waited for: epoll says \"{}\"",
                        std::strerror(errno));
    }
    workers_.push_back(std::move(worker));
  }
  return {};
}

Result<std::vector<Unreached>> UcxTransport::connect(std::span<const std::string> addresses) {
  return connect_each(self_, addresses, [this](PeerIndex peer, const HostAddress& address) {
    return connect_to(peer, address);
  });
}

bool UcxTransport::connect_to(PeerIndex peer, const HostAddress& address) {
  const std::vector<DevicePair> pairs = pair_devices(self_, address);
  for (const DevicePair& pair : pairs) {
    UcxLinkSpec spec;
    spec.index = static_cast<LinkIndex>(links_.size());
    spec.peer = peer;
    spec.peer_device = address.devices[pair.theirs].name;
    spec.key = frame_key(self_, pair.mine, address);
    spec.bytes_under_way = settings_.link_bytes_under_way;
    spec.is_opener = opens_links(self_, address);
    UcxWorker& worker = *workers_[pair.mine];
    auto& link = links_.emplace_back(std::make_unique<UcxLink>(worker, news_, std::move(spec)));
    worker.listen(frame_key(address, pair.theirs, self_), link.get());
    link->connect(address.devices[pair.theirs].reached_by);
  }
  return !pairs.empty();
}

std::vector<Link*> UcxTransport::links() {
  std::vector<Link*> all;
  for (const auto& link : links_) all.push_back(link.get());
  return all;
}

rings::Step UcxTransport::progress(LinkEvents& events) {
  bool moved = false;
  for (const auto& worker : workers_) {
    for (int turn = 0; turn < kTurnsOfProgress && worker->progress(&events); ++turn) moved = true;
  }
  for (const auto& link : links_) {
    if (!link->has_step()) continue;
    link->take_step();
    moved = true;
  }
  moved |= news_.tell(events);
  moved |= settle_links(&events);
  return moved ? rings::Step::kProgress : rings::Step::kIdle;
}

bool UcxTransport::settle_links(LinkEvents* events) {
  bool any = false;
  for (const auto& link : links_) {
    if (!link->is_failing()) continue;
    any = true;
    if (link->is_overdue()) {
      stop_worker_of(*link);  // what UCX says of it meanwhile is reported before the links are lost
      break;
    }
    link->settle(events);
  }
  return any;
}

// The last resort: only with its worker does UCX surely let go of memory. That costs the other links of the NIC, too.
void UcxTransport::stop_worker_of(const UcxLink& overdue) {
  for (const auto& worker : workers_) {
    if (worker.get() == &overdue.worker()) worker->stop();
  }
}

bool UcxTransport::arm() {
  if (!news_.is_empty()) return false;
  for (const auto& link : links_) {
    if (link->is_failing() || link->has_step()) return false;
  }
  return std::all_of(
      workers_.begin(), workers_.end(), [](const auto& worker) { return worker->arm(); });
}

void UcxTransport::progress_until(const std::function<bool()>& is_done) {
  const auto deadline = std::chrono::steady_clock::now() + kFarewell;
  while (!is_done() && std::chrono::steady_clock::now() < deadline) {
    for (const auto& worker : workers_) worker->progress(nullptr);
  }
}

// What was said last, such as that all has arrived, still leaves; then the endpoints close, and what a peer that does
// not answer keeps under way goes with the workers.
UcxTransport::~UcxTransport() {
  // UCX 1.13 can abort a process whose peer goes while the two shake hands.
  progress_until([&] {
    for (const auto& link : links_) {
      if (link->has_step()) link->take_step();
    }
    return std::ranges::none_of(links_, [](const auto& link) { return link->is_meeting(); });
  });
  std::vector<ucs_status_ptr_t> flushes;
  for (const auto& link : links_) {
    link->say_goodbye();
    if (const ucs_status_ptr_t flush = link->flush(); flush != nullptr) flushes.push_back(flush);
  }
  progress_until([&] {
    return std::none_of(flushes.begin(), flushes.end(), [](ucs_status_ptr_t flush) {
      return ucp_request_check_status(flush) == UCS_INPROGRESS;
    });
  });
  for (const auto& link : links_) link->close();
  progress_until([&] { return !settle_links(nullptr); });
  for (const ucs_status_ptr_t flush : flushes) ucp_request_free(flush);
  workers_.clear();
  if (wait_fd_ >= 0) ::close(wait_fd_);
}

}  // namespace
}  // namespace crossdock::transports

extern "C" {
[[gnu::visibility("default")]] extern const char crossdock_ucx_interface[];
const char crossdock_ucx_interface[] = CROSSDOCK_UCX_INTERFACE;

[[gnu::visibility("default")]] void crossdock_open_ucx(
    const crossdock::transports::UcxSettings& settings,
    crossdock::Result<std::unique_ptr<crossdock::transports::Transport>>* answer) {
  auto transport = std::make_unique<crossdock::transports::UcxTransport>(settings);
  const crossdock::Status opened = transport->open();
  if (opened.ok()) {
    *answer = std::unique_ptr<crossdock::transports::Transport>(std::move(transport));
  } else {
    *answer = opened.error();
  }
}
}
