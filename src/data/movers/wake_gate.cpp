// An eventfd beside the descriptors of transports.
#include "data/movers/wake_gate.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "base/check.hpp"
#include "data/transports/system_error.hpp"

namespace crossdock::movers {
namespace {

constexpr std::chrono::microseconds kPollEvery{100};

}  // namespace

WakeGate::WakeGate() : event_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (event_fd_ < 0) ready_ = transports::system_error("a mover cannot be woken", errno);
}

WakeGate::~WakeGate() {
  if (event_fd_ >= 0) ::close(event_fd_);
}

// The flag is exchanged even if it is set: the exchange is what makes the caller's writes known to who takes the news.
// Either this thread sees that the mover sleeps, or the mover, which says so before it looks, sees the news.
void WakeGate::wake() {
  if (has_news_.exchange(true)) return;
  if (!is_asleep_.load()) return;
  const uint64_t one = 1;
  const ssize_t written = ::write(event_fd_, &one, sizeof(one));
  CD_CHECK(written == sizeof(one) || errno == EAGAIN, "eventfd: errno {}", errno);
}

bool WakeGate::take_news() { return has_news_.exchange(false); }

void WakeGate::wait(std::span<transports::Transport* const> transports,
                    std::span<const int> also_fds,
                    std::chrono::microseconds at_most) {
  CD_CHECK(ready_.ok(), "{}", ready_.error().message);
  std::vector<pollfd> fds;
  fds.push_back({.fd = event_fd_, .events = POLLIN, .revents = 0});
  for (const int fd : also_fds) fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  is_asleep_.store(true);
  bool may_sleep = !has_news_.load();
  for (transports::Transport* transport : transports) {
    const int fd = transport->wait_fd();
    if (fd < 0) {
      at_most = std::min(at_most, kPollEvery);
    } else {
      fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      may_sleep = may_sleep && transport->arm();
    }
  }
  if (may_sleep && at_most.count() > 0) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
    const timespec time{.tv_sec = seconds.count(), .tv_nsec = (at_most - seconds).count() * 1000};
    const int answer = ::ppoll(fds.data(), fds.size(), &time, nullptr);
    // Without memory for it there is no sleep this time.
    CD_CHECK(answer >= 0 || errno == EINTR || errno == ENOMEM,
             "poll of {} descriptors: errno {}",
             fds.size(),
             errno);
    uint64_t count = 0;
    if (fds[0].revents != 0 && ::read(event_fd_, &count, sizeof(count)) < 0)
      CD_CHECK(errno == EAGAIN, "eventfd: errno {}", errno);
  }
  is_asleep_.store(false);
}

}  // namespace crossdock::movers
