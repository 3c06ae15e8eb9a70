// Connections to the processes of this host, watched with epoll.
#include "data/transports/neighbours.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <optional>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/descriptor.hpp"
#include "base/home_process.hpp"
#include "data/transports/neighbour_address.hpp"
#include "data/transports/neighbour_meeting.hpp"
#include "data/transports/packet_socket.hpp"
#include "data/transports/system_error.hpp"

namespace crossdock::transports {
namespace {

constexpr int kBacklog = 4096;                  // the system may cut it to net.core.somaxconn
constexpr size_t kNotesWaitingMax = 1024;       // of one neighbour
constexpr std::chrono::seconds kShortMax{5};    // that the system may lack what a note needs
constexpr int kEventsPerTurn = 64;              // of progress()
constexpr int kPacketsPerTurn = 64;             // of one neighbour in that
constexpr uint64_t kProcessEnded = 1ull << 32;  // in an event's data, beside the rank

struct NoteHeader {
  uint32_t magic = 0x314e'4458;  // "XDN1"
  uint32_t note_bytes = 0;
  int64_t region_bytes = 0;  // 0: without a region
};
static_assert(sizeof(NoteHeader) == 16 && sizeof(NoteHeader) + kNoteBytesMax <= kPacketBytesMax);

struct WaitingNote {
  std::vector<std::byte> bytes;
  Descriptor region;
};

struct Neighbour {
  PeerIndex rank = 0;
  PeerProcess who;
  std::mutex mutex;   // of what say() touches: the four below
  Descriptor socket;  // none: gone
  std::deque<WaitingNote> waiting;
  std::optional<std::chrono::steady_clock::time_point>
      short_since;                // of what the first of them needs
  std::string why = "has ended";  // for the error, if this process gave it up
  // Readable when the process has ended. The end of the connection says so too, but not while a child that the process
  // has forked off keeps it open.
  Descriptor process;
};

std::vector<std::byte> packed(const std::string& note, int64_t region_bytes) {
  NoteHeader header;
  header.note_bytes = static_cast<uint32_t>(note.size());
  header.region_bytes = region_bytes;
  std::vector<std::byte> bytes(sizeof header + note.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!note.empty()) std::memcpy(bytes.data() + sizeof header, note.data(), note.size());
  return bytes;
}

Error gone_error(const Neighbour& neighbour) {
  return make_error(ErrorCode::kAgentLost,
                    "rank {} (process {} of this host) {}; its own output may say why",
                    neighbour.rank,
                    neighbour.who.process,
                    neighbour.why);
}

class SocketNeighbours : public Neighbours {
 public:
  SocketNeighbours(int rank, NeighbourAddress address, Descriptor listening, Descriptor epoll)
      : rank_(static_cast<PeerIndex>(rank)),
        local_(std::move(address)),
        listening_(std::move(listening)),
        epoll_(std::move(epoll)) {}

  ~SocketNeighbours() override {
    if (!home_.is_here()) return;
    // The others see the end at once, even if a forked child still has the socket.
    for (auto& [rank, neighbour] : neighbours_) {
      if (neighbour.socket) ::shutdown(neighbour.socket.get(), SHUT_RDWR);
    }
  }

  std::string address() const override { return local_.text(); }
  int wait_fd() const override { return epoll_.get(); }
  Result<std::vector<PeerIndex>> connect(std::span<const std::string> addresses,
                                         std::chrono::milliseconds at_most) override;
  Status say(PeerIndex peer, const std::string& note, const SharedRegion* region) override;
  void progress(NeighbourEvents& events) override;

 private:
  Status watch(Neighbour& neighbour);
  void watch_room(const Neighbour& neighbour, bool is_wanted) const;
  Status wait_in_line(Neighbour& neighbour,
                      std::vector<std::byte> bytes,
                      const SharedRegion* region);
  void send_waiting(Neighbour& neighbour) const;
  void take_notes(Neighbour& neighbour, bool has_ended, NeighbourEvents& events);
  // The cause, if the packet is no note.
  Status take_note(Neighbour& neighbour, Packet& packet, NeighbourEvents& events);
  // `cause`: null if it ended by itself, or say() gave it up.
  void end(Neighbour& neighbour, const Error* cause, NeighbourEvents& events) const;

  const HomeProcess home_;
  PeerIndex rank_;
  NeighbourAddress local_;
  Descriptor listening_;
  Descriptor epoll_;
  std::map<PeerIndex, Neighbour> neighbours_;  // not changed after connect()
};

// Lets progress() know of the connection, and of the process where the kernel tells (since 5.3, and not across
// namespaces of processes).
Status SocketNeighbours::watch(Neighbour& neighbour) {
  epoll_event event{EPOLLIN, {.u64 = neighbour.rank}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, neighbour.socket.get(), &event) != 0) {
    return system_error("a connection inside this host cannot be watched", errno);
  }
  if (neighbour.who.process <= 0) return {};
  neighbour.process =
      Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, neighbour.who.process, 0)));
  if (!neighbour.process) return {};
  event.data.u64 |= kProcessEnded;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, neighbour.process.get(), &event) != 0) {
    return system_error("a process of this host cannot be watched", errno);
  }
  return {};
}

Result<std::vector<PeerIndex>> SocketNeighbours::connect(std::span<const std::string> addresses,
                                                         std::chrono::milliseconds at_most) {
  if (!listening_) {
    return make_error(ErrorCode::kInvalidArgument,
                      "rank {} has met its neighbours already; a group meets once",
                      rank_);
  }
  NeighbourMeeting meeting(rank_, local_, listening_.get());
  Result<std::map<PeerIndex, Descriptor>> met = meeting.meet(addresses, at_most);
  listening_.close();  // no other is to come, and no other may
  if (!met.ok()) return met.error();
  std::vector<PeerIndex> ranks;
  for (auto& [rank, socket] : met.value()) {
    Neighbour& neighbour = neighbours_[rank];
    neighbour.rank = rank;
    neighbour.who = process_at(socket.get());
    neighbour.socket = std::move(socket);
    CD_TRY(watch(neighbour));
    ranks.push_back(rank);
  }
  return ranks;
}

void SocketNeighbours::watch_room(const Neighbour& neighbour, bool is_wanted) const {
  epoll_event event{is_wanted ? EPOLLIN | EPOLLOUT : uint32_t{EPOLLIN}, {.u64 = neighbour.rank}};
  const int done = ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, neighbour.socket.get(), &event);
  CD_CHECK(done == 0, "epoll refuses a change of what it watches: errno {}", errno);
}

Status SocketNeighbours::say(PeerIndex peer, const std::string& note, const SharedRegion* region) {
  const auto at = neighbours_.find(peer);
  if (at == neighbours_.end() || note.size() > kNoteBytesMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a note of {} bytes to rank {}: it may have {}, and go to processes of this "
                      "host that have been met",
                      note.size(),
                      peer,
                      kNoteBytesMax);
  }
  Neighbour& neighbour = at->second;
  const int64_t region_bytes = region == nullptr ? 0 : static_cast<int64_t>(region->bytes().size());
  std::vector<std::byte> bytes = packed(note, region_bytes);
  const std::lock_guard lock(neighbour.mutex);
  if (!neighbour.socket) return gone_error(neighbour);
  if (!neighbour.waiting.empty()) return wait_in_line(neighbour, std::move(bytes), region);
  switch (send_packet(neighbour.socket.get(), bytes, region == nullptr ? -1 : region->fd())) {
    case Sent::kDone:
      return {};
    case Sent::kNotNow:
    case Sent::kShort:
      return wait_in_line(neighbour, std::move(bytes), region);
    case Sent::kGone:
      return gone_error(neighbour);
    case Sent::kRefused:
      break;
  }
  const int problem = errno;
  return system_error(fmt::format("a note cannot be sent to rank {} of this host", peer), problem);
}

// With the neighbour's lock.
Status SocketNeighbours::wait_in_line(Neighbour& neighbour,
                                      std::vector<std::byte> bytes,
                                      const SharedRegion* region) {
  if (neighbour.waiting.size() >= kNotesWaitingMax) {
    neighbour.why = fmt::format("has left {} notes lying and is given up", kNotesWaitingMax);
    ::shutdown(neighbour.socket.get(), SHUT_RDWR);  // progress() finds the end
    return gone_error(neighbour);
  }
  WaitingNote note{std::move(bytes), Descriptor()};
  if (region != nullptr) {
    note.region = Descriptor(::fcntl(region->fd(), F_DUPFD_CLOEXEC, 0));
    if (!note.region) return system_error("a region cannot be kept for a neighbour", errno);
  }
  neighbour.waiting.push_back(std::move(note));
  if (neighbour.waiting.size() == 1) watch_room(neighbour, true);
  return {};
}

// The socket has room meanwhile, so that progress() is called again at once.
bool may_stay_short(Neighbour& neighbour) {
  const auto now = std::chrono::steady_clock::now();
  if (!neighbour.short_since) neighbour.short_since = now;
  return now - *neighbour.short_since < kShortMax;
}

void SocketNeighbours::send_waiting(Neighbour& neighbour) const {
  const std::lock_guard lock(neighbour.mutex);
  if (!neighbour.socket || neighbour.waiting.empty()) return;
  while (!neighbour.waiting.empty()) {
    const WaitingNote& note = neighbour.waiting.front();
    const Sent sent = send_packet(neighbour.socket.get(), note.bytes, note.region.get());
    const int problem = errno;
    if (sent == Sent::kNotNow)
      neighbour.short_since.reset();  // only a full socket, for as long as it likes
    if (sent == Sent::kNotNow || (sent == Sent::kShort && may_stay_short(neighbour))) return;
    if (sent != Sent::kDone) {
      // What was promised cannot be kept: the connection ends, and take_notes() tells.
      if (sent != Sent::kGone) {
        neighbour.why = system_error("cannot be sent to", problem).message;
      }
      ::shutdown(neighbour.socket.get(), SHUT_RDWR);
      neighbour.waiting.clear();
      break;
    }
    neighbour.short_since.reset();
    neighbour.waiting.pop_front();
  }
  watch_room(neighbour, false);
}

Status SocketNeighbours::take_note(Neighbour& neighbour, Packet& packet, NeighbourEvents& events) {
  if (packet.has_lost_descriptor) {
    return system_error(fmt::format("a region of rank {} cannot be taken", neighbour.rank), EMFILE);
  }
  NoteHeader header;
  const bool is_whole = !packet.is_broken && packet.size >= sizeof header;
  if (is_whole) std::memcpy(&header, packet.bytes, sizeof header);
  if (!is_whole || header.magic != NoteHeader().magic || header.note_bytes > kNoteBytesMax ||
      header.note_bytes != packet.size - sizeof header ||
      (header.region_bytes != 0) != static_cast<bool>(packet.passed)) {
    return make_error(ErrorCode::kMalformedMessage,
                      "rank {} (process {} of this host) has sent {} bytes that are no note; it "
                      "runs another version, or is damaged",
                      neighbour.rank,
                      neighbour.who.process,
                      packet.size);
  }
  std::unique_ptr<SharedRegion> region;
  if (packet.passed) {
    CD_ASSIGN(region, SharedRegion::map(packet.passed.release(), header.region_bytes));
  }
  const auto* const text = reinterpret_cast<const char*>(packet.bytes + sizeof header);
  events.received(neighbour.rank, std::string(text, header.note_bytes), std::move(region));
  return {};
}

void SocketNeighbours::take_notes(Neighbour& neighbour, bool has_ended, NeighbourEvents& events) {
  if (!neighbour.socket) return;
  for (int i = 0; i < kPacketsPerTurn; ++i) {
    Packet packet;
    const PacketOutcome arrived = receive_packet(neighbour.socket.get(), packet);
    if (arrived == PacketOutcome::kNothing && !has_ended) return;
    if (arrived != PacketOutcome::kPacket) return end(neighbour, nullptr, events);
    const Status taken = take_note(neighbour, packet, events);
    if (!taken.ok()) return end(neighbour, &taken.error(), events);
  }
}

void SocketNeighbours::end(Neighbour& neighbour,
                           const Error* cause,
                           NeighbourEvents& events) const {
  Error seen;
  {
    const std::lock_guard lock(neighbour.mutex);
    if (cause != nullptr) neighbour.why = "has sent what cannot be taken";
    seen = cause == nullptr ? gone_error(neighbour) : *cause;
    // Not left to close(), which does it only when no other process, like a forked child, has the descriptor.
    for (Descriptor* fd : {&neighbour.socket, &neighbour.process}) {
      if (*fd) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd->get(), nullptr);
    }
    ::shutdown(neighbour.socket.get(), SHUT_RDWR);
    neighbour.socket.close();
    neighbour.process.close();
    neighbour.waiting.clear();
  }
  events.gone(neighbour.rank, seen);
}

void SocketNeighbours::progress(NeighbourEvents& events) {
  std::array<epoll_event, kEventsPerTurn> turn;
  const int count = ::epoll_wait(epoll_.get(), turn.data(), kEventsPerTurn, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = turn[static_cast<size_t>(i)];
    Neighbour& neighbour = neighbours_.at(static_cast<PeerIndex>(event.data.u64));
    if ((event.events & EPOLLOUT) != 0) send_waiting(neighbour);
    take_notes(neighbour, (event.data.u64 & kProcessEnded) != 0, events);
  }
}

}  // namespace

Result<std::unique_ptr<Neighbours>> Neighbours::listen(int rank) {
  CD_ASSIGN(NeighbourAddress address, NeighbourAddress::make());
  CD_ASSIGN(Descriptor listening, listen_at(address.name, kBacklog));
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return system_error("processes of this host cannot be watched", errno);
  return std::unique_ptr<Neighbours>(std::make_unique<SocketNeighbours>(
      rank, std::move(address), std::move(listening), std::move(epoll)));
}

}  // namespace crossdock::transports
