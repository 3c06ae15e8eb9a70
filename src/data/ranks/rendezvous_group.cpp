#include "data/ranks/rendezvous_group.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/ranges.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "data/ranks/agreement.hpp"
#include "data/ranks/packed_strings.hpp"
#include "data/transports/system_error.hpp"

namespace crossdock::ranks {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kScheme = "crossdock://";
constexpr size_t kFrameBytesMax = size_t{1} << 30;  // of all ranks; the driver bounds that of each
constexpr size_t kSaidBytesMax = size_t{16} << 20;
constexpr milliseconds kLookEvery{50};
constexpr milliseconds kConnectWithin{3'000};  // to one host, before the next is tried
constexpr milliseconds kAnswerWithin{1'000};   // what is on its way when a rank has ended

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000));
}

bool wait_for(int fd, short events, Clock::time_point end) {
  pollfd one = {.fd = fd, .events = events, .revents = 0};
  int ready = 0;
  do {
    ready = ::poll(&one, 1, milliseconds_until(end));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// A host that is cut off is missed after half a minute.
void prepare(int fd) {
  const auto set = [fd](int level, int name, int value) {
    (void)::setsockopt(fd, level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

// 0 and the socket, or why not.
int connect_to(const addrinfo& to, Clock::time_point end, Descriptor& connected) {
  Descriptor socket(::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return errno;
  prepare(socket.get());
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) != 0 && errno != EINPROGRESS) return errno;
  if (!wait_for(socket.get(), POLLOUT, end)) return ETIMEDOUT;
  int problem = 0;
  socklen_t size = sizeof problem;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0) return errno;
  if (problem == 0) connected = std::move(socket);
  return problem;
}

// "", or why there is no connection.
std::string connect_to(const std::string& host,
                       const std::string& port,
                       Clock::time_point end,
                       Descriptor& connected) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &first);
  if (failure != 0) return fmt::format("{}: {}", host, ::gai_strerror(failure));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(first, ::freeaddrinfo);
  int problem = ENOENT;
  for (const addrinfo* to = first; to != nullptr && problem != 0; to = to->ai_next) {
    problem = connect_to(*to, std::min(end, Clock::now() + kConnectWithin), connected);
  }
  if (problem == 0) return "";
  if (problem == EMFILE || problem == ENFILE)
    return transports::system_error("no socket can be made", problem).message;
  return fmt::format("{}: {}", host, std::generic_category().message(problem));
}

std::string frame_of(std::string_view body) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(body.size() >> shift);
  frame += body;
  return frame;
}

}  // namespace

bool RendezvousAddress::is_one(std::string_view text) { return text.starts_with(kScheme); }

std::string RendezvousAddress::place() const {
  return fmt::format("{}{}:{}/{}", kScheme, fmt::join(hosts, ","), port, job);
}

Result<RendezvousAddress> RendezvousAddress::parse(std::string_view text) {
  const std::string_view rest = is_one(text) ? text.substr(kScheme.size()) : "";
  const size_t slash = std::min(rest.find('/'), rest.size());
  const size_t last = rest.rfind('/');
  const std::string_view place = rest.substr(0, slash);
  const size_t colon = place.rfind(':');
  RendezvousAddress address;
  if (slash < rest.size() && last > slash && colon != std::string_view::npos) {
    address.port = place.substr(colon + 1);
    address.job = rest.substr(slash + 1, last - slash - 1);
    address.secret = rest.substr(last + 1);
    std::string_view hosts = place.substr(0, colon);
    while (!hosts.empty()) {
      const size_t comma = std::min(hosts.find(','), hosts.size());
      std::string_view host = hosts.substr(0, comma);
      if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
      if (!host.empty()) address.hosts.emplace_back(host);
      hosts.remove_prefix(std::min(comma + 1, hosts.size()));
    }
  }
  const bool is_number = !address.port.empty() && std::ranges::all_of(address.port, [](char c) {
    return c >= '0' && c <= '9';
  });
  if (is_number && !address.hosts.empty() && !address.job.empty() && !address.secret.empty())
    return address;
  return make_error(ErrorCode::kInvalidArgument,
                    "\"{}\" is no address of a rendezvous: {}HOST:PORT/JOB/SECRET, as "
                    "Rendezvous().address has it",
                    text.substr(0, slash + kScheme.size()),
                    kScheme);
}

Error RendezvousGroup::gone(const char* why) const {
  return make_error(ErrorCode::kControllerUnreachable,
                    "the rendezvous at {} {}; the driver keeps it open for as long as ranks work "
                    "together",
                    address_.place(),
                    why);
}

Status RendezvousGroup::connect(Clock::time_point end) {
  std::string why;
  while (true) {
    for (const std::string& host : address_.hosts) {
      why = connect_to(host, address_.port, end, socket_);
      if (!why.empty()) continue;
      return send(fmt::format("crossdock-meet 1\n{}\n{}\n{}\n{}\n{}",
                              address_.secret,
                              address_.job,
                              rank_,
                              size_,
                              ::getpid()),
                  end);
    }
    constexpr milliseconds kAgainAfter{200};
    if (Clock::now() + kAgainAfter >= end) break;
    std::this_thread::sleep_for(kAgainAfter);
  }
  return make_error(ErrorCode::kControllerUnreachable,
                    "nothing answers at the rendezvous {} ({}); see whether the driver runs, and "
                    "whether a firewall lets its port through",
                    address_.place(),
                    why);
}

Status RendezvousGroup::send(std::string_view body, Clock::time_point end) {
  const std::string frame = frame_of(body);
  for (size_t done = 0; done < frame.size();) {
    const ssize_t went =
        ::send(socket_.get(), frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
    if (went >= 0) {
      done += static_cast<size_t>(went);
    } else if (errno == EAGAIN) {
      if (!wait_for(socket_.get(), POLLOUT, end)) return gone("takes nothing more");
    } else if (errno != EINTR) {
      return {};  // what it said before it closed the connection can still be read
    }
  }
  return {};
}

Result<std::optional<std::string>> RendezvousGroup::receive(
    Clock::time_point end, const std::function<bool()>& is_enough) {
  constexpr size_t kHead = 4;
  while (true) {
    if (came_.size() >= kHead) {
      size_t bytes = 0;
      for (size_t i = 0; i < kHead; ++i) bytes = bytes << 8 | static_cast<uint8_t>(came_[i]);
      if (bytes == 0 || bytes > kFrameBytesMax) return gone("is none: what came is no message");
      if (came_.size() >= kHead + bytes) {
        std::string body = came_.substr(kHead, bytes);
        came_.erase(0, kHead + bytes);
        return std::optional(std::move(body));
      }
    }
    char piece[65536];
    const ssize_t got = ::recv(socket_.get(), piece, sizeof piece, 0);
    if (got > 0) {
      came_.append(piece, static_cast<size_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      return gone("has ended the connection");
    } else {
      if (Clock::now() >= end || is_enough()) return std::optional<std::string>();
      wait_for(socket_.get(), POLLIN, std::min(end, Clock::now() + kLookEvery));
    }
  }
}

Status RendezvousGroup::check_all() const {
  for (int other = 0; other < size_; ++other) CD_TRY(check_alive(other));
  return {};
}

Error RendezvousGroup::missing(milliseconds after) {
  std::string ranks = "some ranks";
  const Clock::time_point end = Clock::now() + kAnswerWithin;
  if (send("W", end).ok()) {
    const auto heard = receive(end, [] { return false; });
    const bool is_answer =
        heard.ok() && heard.value().has_value() && heard.value()->starts_with("M");
    if (is_answer) ranks = "ranks " + heard.value()->substr(1);
  }
  return make_error(ErrorCode::kAgentLost,
                    "{} of {} did not come within {:.3g} s to {}: look at whether they run, and "
                    "have the same address; ranks that start late need a larger open_within_s",
                    ranks,
                    size_,
                    static_cast<double>(after.count()) * 1e-3,
                    address_.place());
}

// The answer may be on its way when a rank that was in the round has ended.
Result<std::vector<std::string>> RendezvousGroup::await_all(Clock::time_point end,
                                                            milliseconds at_most) {
  Status alive;
  std::optional<Clock::time_point> until;
  const auto received = receive(end, [&] {
    if (!until.has_value()) {
      alive = check_all();
      if (!alive.ok()) until = Clock::now() + kAnswerWithin;
    }
    return until.has_value() && Clock::now() >= *until;
  });
  if (!received.ok()) return received.error();
  // Not moved into a variable: of a moved optional string GCC 12 warns that its buffer may be uninitialized.
  const std::optional<std::string>& answer = received.value();
  if (!answer.has_value()) return alive.ok() ? missing(at_most) : alive.error();
  if (answer->starts_with("E")) return error_of_text(answer->substr(1));
  auto all = answer->starts_with("A")
               ? unpacked_strings(std::string_view(*answer).substr(1), static_cast<size_t>(size_))
               : std::nullopt;
  if (all.has_value()) return std::move(*all);
  return gone("is none: what came is no answer");
}

Result<std::vector<std::string>> RendezvousGroup::gather(const std::string& mine,
                                                         milliseconds at_most) {
  CD_TRY(home_.check(fmt::format("rank {} of job \"{}\"", rank_, address_.job)));
  if (over_.has_value()) {
    return make_error(over_->code,
                      "job \"{}\" is over since an earlier meeting: {}",
                      address_.job,
                      over_->message);
  }
  if (mine.size() > kSaidBytesMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} bytes are too many to be said to all ranks: at most {}; rows go through "
                      "channels",
                      mine.size(),
                      kSaidBytesMax);
  }
  const Clock::time_point end = Clock::now() + at_most;
  const auto pass = [&]() -> Result<std::vector<std::string>> {
    if (!socket_) CD_TRY(connect(end));
    CD_TRY(send("S" + mine, end));
    return await_all(end, at_most);
  };
  auto all = pass();
  if (!all.ok()) {
    over_ = all.error();
    socket_.close();
  }
  return all;
}

Result<std::unique_ptr<RankGroup>> join_meeting(const std::string& meet,
                                                const std::string& job,
                                                int rank,
                                                int size) {
  if (!RendezvousAddress::is_one(meet)) return join_folder(meet, job, rank, size);
  CD_TRY(check_place(rank, size));
  CD_ASSIGN(RendezvousAddress address, RendezvousAddress::parse(meet));
  if (!job.empty()) address.job = job;
  return std::unique_ptr<RankGroup>(
      std::make_unique<RendezvousGroup>(std::move(address), rank, size));
}

}  // namespace crossdock::ranks
