#include "data/transports/neighbour_meeting.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

#include <fmt/ranges.h>

#include "data/transports/packet_socket.hpp"
#include "data/transports/system_error.hpp"

namespace crossdock::transports {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kCallersMax = 64;          // who have said nothing yet
constexpr milliseconds kSilenceMax{2'000};  // a member greets before it does anything else
constexpr milliseconds kRetry{2};           // of a call that found a full queue
constexpr size_t kNamedMax = 16;            // ranks in an error

struct Greeting {
  uint32_t magic = 0x3148'4458;  // "XDH1"
  PeerIndex from = 0;
  PeerIndex to = 0;
  RandomBytes secret{};  // of the one who is greeted
};
static_assert(sizeof(Greeting) == 28);

bool read_greeting(const Packet& packet, Greeting& greeting) {
  if (packet.is_broken || packet.passed || packet.size != sizeof greeting) return false;
  std::memcpy(&greeting, packet.bytes, sizeof greeting);
  return greeting.magic == Greeting().magic;
}

// Does not tell by its time how much of it is right.
bool is_same(const RandomBytes& a, const RandomBytes& b) {
  std::byte difference{0};
  for (size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

}  // namespace

Status NeighbourMeeting::find_neighbours(std::span<const std::string> addresses) {
  for (PeerIndex rank = 0; rank < addresses.size(); ++rank) {
    if (rank == rank_ || addresses[rank].empty()) continue;
    Result<NeighbourAddress> address = NeighbourAddress::parse(addresses[rank]);
    if (!address.ok()) {
      return make_error(address.error().code, "rank {}: {}", rank, address.error().message);
    }
    if (address.value().host != local_.host) continue;
    if (address.value().user != local_.user) {
      return make_error(ErrorCode::kNotAllowed,
                        "rank {} runs on this host as user {}, and this process as user {}; they "
                        "share no memory: start all ranks as one user, or leave shm out of the "
                        "transports",
                        rank,
                        address.value().user,
                        local_.user);
    }
    neighbours_.emplace(rank, std::move(address.value()));
  }
  return {};
}

bool NeighbourMeeting::greet(int fd, PeerIndex rank) const {
  Greeting greeting;
  greeting.from = rank_;
  greeting.to = rank;
  greeting.secret = neighbours_.at(rank).secret;
  return send_packet(fd, std::as_bytes(std::span(&greeting, 1)), -1) == Sent::kDone;
}

Result<bool> NeighbourMeeting::call(PeerIndex rank) {
  CD_ASSIGN(Descriptor fd, make_packet_socket());
  const int problem = connect_to(fd.get(), neighbours_.at(rank).name);
  if (problem == EAGAIN || problem == EINTR) return true;
  if (problem != 0 && problem != ECONNREFUSED) {
    return system_error(fmt::format("rank {} of this host cannot be reached", rank), problem);
  }
  const PeerProcess who = problem == 0 ? process_at(fd.get()) : PeerProcess{local_.user, 0};
  if (who.user != local_.user) {
    return make_error(ErrorCode::kNotAllowed,
                      "the socket of rank {} belongs to user {}, and this process to user {}; "
                      "another process answers in its place: start the ranks again",
                      rank,
                      who.user,
                      local_.user);
  }
  if (problem == ECONNREFUSED || !greet(fd.get(), rank)) {
    return make_error(
        ErrorCode::kAgentLost,
        "rank {} of this host has ended before the ranks met; its own output says why",
        rank);
  }
  called_.emplace(rank, std::move(fd));
  return false;
}

void NeighbourMeeting::accept_callers() {
  while (callers_.size() < kCallersMax) {
    Descriptor fd(::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    const PeerProcess who = process_at(fd.get());
    if (who.user != local_.user) {
      if (refused_users_.size() < kNamedMax) refused_users_.insert(who.user);
      continue;
    }
    callers_.push_back({std::move(fd), Clock::now()});
  }
}

void NeighbourMeeting::read_greetings() {
  for (Caller& caller : callers_) {
    Packet packet;
    const PacketOutcome arrived = receive_packet(caller.fd.get(), packet);
    if (arrived == PacketOutcome::kNothing) continue;
    Descriptor fd = std::move(caller.fd);
    Greeting greeting;
    if (arrived == PacketOutcome::kGone || !read_greeting(packet, greeting)) continue;
    const bool is_expected = greeting.to == rank_ && greeting.from > rank_ &&
                             neighbours_.contains(greeting.from) && !met_.contains(greeting.from) &&
                             is_same(greeting.secret, local_.secret);
    if (is_expected && greet(fd.get(), greeting.from)) {
      met_.emplace(greeting.from, std::move(fd));
    }
  }
  std::erase_if(callers_, [](const Caller& caller) { return !caller.fd; });
}

Status NeighbourMeeting::read_answers() {
  for (auto at = called_.begin(); at != called_.end();) {
    Packet packet;
    const PacketOutcome arrived = receive_packet(at->second.get(), packet);
    if (arrived == PacketOutcome::kNothing) {
      ++at;
      continue;
    }
    Greeting greeting;
    if (arrived == PacketOutcome::kGone || !read_greeting(packet, greeting) ||
        greeting.from != at->first || greeting.to != rank_ ||
        !is_same(greeting.secret, local_.secret)) {
      return make_error(ErrorCode::kAgentLost,
                        "rank {} of this host {}; its own output may say why",
                        at->first,
                        arrived == PacketOutcome::kGone
                            ? "hung up before the ranks met"
                            : "answered with something else than a greeting");
    }
    met_.emplace(at->first, std::move(at->second));
    at = called_.erase(at);
  }
  return {};
}

void NeighbourMeeting::drop_silent() {
  const Clock::time_point now = Clock::now();
  std::erase_if(callers_, [&](const Caller& caller) { return now - caller.since > kSilenceMax; });
}

void NeighbourMeeting::wait_for_news(milliseconds at_most) const {
  std::vector<pollfd> watched;
  if (callers_.size() < kCallersMax) watched.push_back({listening_, POLLIN, 0});
  for (const Caller& caller : callers_) watched.push_back({caller.fd.get(), POLLIN, 0});
  for (const auto& [rank, fd] : called_) watched.push_back({fd.get(), POLLIN, 0});
  ::poll(watched.data(), watched.size(), static_cast<int>(at_most.count()));
}

Error NeighbourMeeting::missing(milliseconds after) const {
  std::vector<PeerIndex> ranks;
  for (const auto& [rank, address] : neighbours_) {
    if (!met_.contains(rank)) ranks.push_back(rank);
  }
  std::string more;
  if (ranks.size() > kNamedMax) more = fmt::format(" and {} more", ranks.size() - kNamedMax);
  if (!refused_users_.empty()) {
    more +=
        fmt::format(" (callers of other users were refused: {})", fmt::join(refused_users_, ", "));
  }
  const size_t named = std::min(ranks.size(), kNamedMax);
  return make_error(
      ErrorCode::kAgentLost,
      "rank{} {}{} of this host did not come within {:.3g} s: look at whether they "
      "run, and at their own output",
      ranks.size() == 1 ? "" : "s",
      fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      more,
      static_cast<double>(after.count()) * 1e-3);
}

Result<std::map<PeerIndex, Descriptor>> NeighbourMeeting::meet(
    std::span<const std::string> addresses, milliseconds at_most) {
  CD_TRY(find_neighbours(addresses));
  const Clock::time_point end = Clock::now() + at_most;
  while (true) {
    bool is_call_waiting = false;
    for (const auto& [rank, address] : neighbours_) {
      if (rank > rank_ || met_.contains(rank) || called_.contains(rank)) continue;
      CD_ASSIGN(const bool later, call(rank));
      is_call_waiting |= later;
    }
    accept_callers();
    read_greetings();
    CD_TRY(read_answers());
    drop_silent();
    if (met_.size() == neighbours_.size()) return std::move(met_);
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
    if (left <= milliseconds::zero()) return missing(at_most);
    wait_for_news(std::min(left, is_call_waiting ? kRetry : milliseconds{100}));
  }
}

}  // namespace crossdock::transports
