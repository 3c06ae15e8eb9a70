#include "data/transports/socket_link.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <utility>

#include "base/check.hpp"
#include "data/rings/crc32c.hpp"
#include "data/rings/wire_segment.hpp"

namespace crossdock::transports {
namespace {

constexpr size_t kPutsMax = 1024;
constexpr size_t kNotesMax = 1024;
// Read at once: a second-level cache has them when they are summed up.
constexpr size_t kPieceBytes = size_t{128} << 10;
// Per turn, before it is another link's.
constexpr size_t kTurnBytes = size_t{1} << 20;
// Of a frame that has begun to come, a thread is woken for as much as this, or for the rest.
constexpr size_t kWorthWakingBytes = size_t{128} << 10;
// In the middle of a frame that is a silence: more than a busy core or a full queue makes of it.
constexpr std::chrono::milliseconds kSilence{50};

iovec part_of(const void* at, size_t bytes) { return {const_cast<void*>(at), bytes}; }

}  // namespace

std::string SocketLink::name() const {
  return fmt::format("{} to rank {}", spec_.device, spec_.peer);
}

bool SocketLink::takes(uint64_t bytes) const {
  if (!why_.empty() || !is_greeted_ || frames_queued_ >= kPutsMax) return false;
  return bytes_under_way_ == 0 ||
         bytes_under_way_ + static_cast<int64_t>(bytes) <= spec_.bytes_under_way;
}

bool SocketLink::put(const rings::SegmentHeader& header,
                     std::span<const std::byte> payload,
                     uint64_t token) {
  return enqueue(SocketHead::kFrame, header, payload, token);
}

bool SocketLink::put_unstamped(const rings::SegmentHeader& header,
                               std::span<const std::byte> payload,
                               uint64_t token) {
  return enqueue(SocketHead::kSummedFrame, header, payload, token);
}

bool SocketLink::enqueue(SocketHead::Kind kind,
                         const rings::SegmentHeader& header,
                         std::span<const std::byte> payload,
                         uint64_t token) {
  if (!takes(payload.size())) return false;
  Outgoing& message = queue_.emplace_back();
  message.head.kind = kind;
  message.head.bytes = static_cast<uint32_t>(payload.size());
  message.head.header = header;
  message.head.header.bytes = message.head.bytes;
  if (kind == SocketHead::kSummedFrame) message.sum = rings::begin_checksum(message.head.header);
  message.body = payload;
  message.token = token;
  ++frames_queued_;
  bytes_under_way_ += static_cast<int64_t>(payload.size());
  return true;
}

// What has come and is not worth waking for, less than 21 Mbit/s, is as good as nothing when a copy is at hand.
bool SocketLink::revoke(const std::byte* place) {
  if (place_ == nullptr || place != place_ || is_readable_) return false;
  if (std::chrono::steady_clock::now() - came_at_ < kSilence) return false;
  place_ = nullptr;
  is_summed_ = false;
  return true;
}

bool SocketLink::tell(std::span<const std::byte> note) {
  CD_CHECK(note.size() <= kNoteBytesMax, "bytes {}", note.size());
  if (!why_.empty() || !is_greeted_ || queue_.size() - frames_queued_ >= kNotesMax) return false;
  const bool has_begun = first_sent_ > 0 && queue_.front().is_frame();
  const auto at = queue_.begin() + static_cast<ptrdiff_t>(notes_ahead_ + (has_begun ? 1 : 0));
  Outgoing& message = *queue_.emplace(at);
  message.head.kind = SocketHead::kNote;
  message.head.bytes = static_cast<uint32_t>(note.size());
  message.note.assign(note.begin(), note.end());
  message.body = message.note;
  ++notes_ahead_;
  return true;
}

// What the kernel still has for it is thrown away: it goes again over other links.
void SocketLink::abandon() {
  if (!why_.empty()) return;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  if (has_socket()) ::setsockopt(fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  fail("it was given up here");
}

void SocketLink::connect(Descriptor socket) { socket_ = std::move(socket); }

void SocketLink::accept(Descriptor socket) {
  socket_ = std::move(socket);
  greeting_bytes_ = sizeof greeting_;
  is_greeted_ = is_readable_ = is_writable_ = true;
  greet();
}

// A new connection has room for it.
void SocketLink::greet() {
  has_greeted_ = true;
  const SocketGreeting mine{.magic = kSocketMagic, .key = spec_.key};
  const ssize_t went = ::send(fd(), &mine, sizeof mine, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (went != static_cast<ssize_t>(sizeof mine)) fail(std::strerror(went < 0 ? errno : EAGAIN));
}

void SocketLink::fail(std::string why) {
  if (!why_.empty()) return;
  why_ = std::move(why);
  // Also where a copy of the process that fork made holds the socket.
  if (has_socket()) ::shutdown(fd(), SHUT_RDWR);
  socket_.close();
  queue_.clear();
  frames_queued_ = notes_ahead_ = first_sent_ = 0;
  bytes_under_way_ = 0;
}

void SocketLink::tell_lost(LinkEvents& events) {
  is_reported_ = true;
  events.lost(spec_.index,
              make_error(ErrorCode::kAgentLost,
                         "the link {} is over: \"{}\". The process there has ended, or the network "
                         "between is down",
                         name(),
                         why_));
}

void SocketLink::take_events(uint32_t events) {
  if (!has_socket()) return;
  if ((events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0) is_closing_ = is_readable_ = true;
  if ((events & EPOLLIN) != 0) is_readable_ = true;
  if ((events & EPOLLOUT) == 0) return;
  is_writable_ = true;
  if (has_greeted_) return;
  int problem = 0;
  socklen_t size = sizeof problem;
  if (::getsockopt(fd(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0) problem = errno;
  if (problem == 0) return greet();
  fail(std::strerror(problem));
}

bool SocketLink::has_work() const {
  if (!has_socket()) return is_failing();
  return is_readable_ || (is_writable_ && !queue_.empty());
}

bool SocketLink::turn(LinkEvents* events) {
  const bool has_received = receive(events);
  const bool has_sent = send(events);
  return has_received || has_sent;
}

bool SocketLink::is_drained() const {
  if (!has_socket() || !has_greeted_) return true;
  int unsent = 0;
  return queue_.empty() && (::ioctl(fd(), SIOCOUTQ, &unsent) != 0 || unsent == 0);
}

void SocketLink::finish() {
  if (has_socket()) ::shutdown(fd(), SHUT_WR);
}

// Where the next bytes go: the rest of the greeting; a piece of the body, and if it is the last, what is behind it and
// the next head; or the rest of a head.
size_t SocketLink::next_parts(std::array<iovec, 3>& parts) {
  if (greeting_bytes_ < sizeof greeting_) {
    parts[0] = part_of(reinterpret_cast<std::byte*>(&greeting_) + greeting_bytes_,
                       sizeof greeting_ - greeting_bytes_);
    return 1;
  }
  size_t count = 0;
  const size_t left = message_.bytes - body_done_;
  if (left > 0) {
    const size_t most = place_ != nullptr ? kPieceBytes : spec_.waste.size();
    const size_t piece = std::min(left, most);
    parts[0] = part_of(place_ != nullptr ? place_ + body_done_ : spec_.waste.data(), piece);
    count = 1;
    if (piece < left) return count;
  }
  if (tail_left() > 0) {
    const size_t done = sizeof peer_sum_ - tail_left();
    parts[count++] = part_of(reinterpret_cast<std::byte*>(&peer_sum_) + done, tail_left());
  }
  parts[count++] = part_of(reinterpret_cast<std::byte*>(&next_head_) + head_bytes_,
                           sizeof next_head_ - head_bytes_);
  return count;
}

bool SocketLink::receive(LinkEvents* events) {
  size_t received = 0;
  while (is_readable_ && received < kTurnBytes && has_socket()) {
    std::array<iovec, 3> parts;
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = next_parts(parts);
    size_t message_bytes = 0;
    for (size_t i = 0; i < message.msg_iovlen; ++i) message_bytes += parts[i].iov_len;
    const ssize_t got = ::recvmsg(fd(), &message, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    const bool is_empty = got < 0 && errno == EAGAIN;
    if (got <= 0 && !is_empty) {
      fail(got == 0 ? "the other side has closed it" : std::strerror(errno));
      return true;
    }
    const size_t bytes = is_empty ? 0 : static_cast<size_t>(got);
    received += bytes;
    if (!is_empty) {
      came_at_ = std::chrono::steady_clock::now();
      take(bytes, events);
    }
    // What comes from now on is reported as a change, and so is the end, unless it has been reported; of a short
    // message whose head came with the end of a long one, too, as soon as it is there.
    if (is_empty || (bytes < message_bytes && !is_closing_ && has_socket())) {
      is_readable_ = false;
      wait_for_more();
    }
  }
  return received > 0;
}

// A frame is of no use before all of it is there, but its sum is made of pieces that a cache holds.
void SocketLink::wait_for_more() {
  const size_t left = message_.bytes - body_done_;
  const int least = static_cast<int>(std::clamp<size_t>(left, 1, kWorthWakingBytes));
  if (least == least_bytes_) return;
  // Who is woken more often than asked for has no harm of it.
  (void)::setsockopt(fd(), SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
  least_bytes_ = least;
}

void SocketLink::take(size_t bytes, LinkEvents* events) {
  if (greeting_bytes_ < sizeof greeting_) {
    greeting_bytes_ += bytes;
    if (greeting_bytes_ == sizeof greeting_) take_greeting();
    return;
  }
  const size_t left = message_.bytes - body_done_;
  const bool was_whole = left + tail_left() == 0;
  const size_t of_body = std::min(bytes, left);
  const size_t of_tail = std::min(bytes - of_body, tail_left());
  if (of_body > 0) take_body(of_body);
  tail_done_ += of_tail;
  if (!was_whole && of_body == left && tail_left() == 0) end_message(events);
  head_bytes_ += bytes - of_body - of_tail;
  if (head_bytes_ == sizeof next_head_ && has_socket()) begin_message(events);
}

void SocketLink::take_greeting() {
  if (greeting_.magic == kSocketMagic && greeting_.key == spec_.peer_key) {
    is_greeted_ = true;
  } else {
    fail("it leads to another process");
  }
}

void SocketLink::take_body(size_t bytes) {
  if (is_summed_) sum_ = rings::crc32c({place_ + body_done_, bytes}, sum_);
  body_done_ += bytes;
}

void SocketLink::begin_message(LinkEvents* events) {
  message_ = next_head_;
  head_bytes_ = body_done_ = tail_done_ = 0;
  place_ = nullptr;
  is_summed_ = false;
  const bool is_frame =
      message_.kind == SocketHead::kFrame || message_.kind == SocketHead::kSummedFrame;
  if (message_.kind == SocketHead::kNote && message_.bytes <= kNoteBytesMax) {
    place_ = note_.data();
  } else if (is_frame && message_.bytes == message_.header.bytes) {
    if (events != nullptr) place_ = events->place(spec_.index, message_.header);
    is_summed_ = place_ != nullptr && events->wants_sum(message_.header);
    if (is_summed_) sum_ = rings::begin_checksum(message_.header);
  } else {
    return fail("what came is no message; the peer speaks another version or sends damaged data");
  }
  if (message_.bytes + tail_left() == 0) end_message(events);
}

void SocketLink::end_message(LinkEvents* events) {
  if (events == nullptr || place_ == nullptr) return;
  if (message_.kind == SocketHead::kSummedFrame) message_.header.checksum = peer_sum_;
  if (message_.kind == SocketHead::kNote) {
    events->noted(spec_.index, {note_.data(), message_.bytes});
  } else if (is_summed_) {
    events->placed_with_sum(spec_.index, message_.header, place_, sum_);
  } else {
    events->placed(spec_.index, message_.header, place_);
  }
}

// What is to leave next, and how many bytes that are. Of frames that are summed up a piece, whose sum is made now.
size_t SocketLink::outgoing_parts(Parts& parts) {
  size_t count = 0, total = 0, skipped = first_sent_;
  const auto add = [&](const void* at, size_t bytes) {
    const size_t left_out = std::min(skipped, bytes);
    skipped -= left_out;
    if (left_out == bytes) return;
    parts.of[count++] = part_of(static_cast<const std::byte*>(at) + left_out, bytes - left_out);
    total += bytes - left_out;
  };
  for (Outgoing& message : queue_) {
    if (count + 3 > parts.of.size() || total >= kPieceBytes) break;
    add(&message.head, sizeof message.head);
    if (message.tail_bytes() == 0) {
      add(message.body.data(), message.body.size());
      continue;
    }
    // What was summed up before and has not left goes along.
    const size_t end =
        std::min(message.body.size(), std::max(message.summed, skipped + kPieceBytes));
    if (end > message.summed) {
      const auto piece = message.body.subspan(message.summed, end - message.summed);
      message.sum = rings::crc32c(piece, message.sum);
      message.summed = end;
    }
    add(message.body.data(), end);
    if (end < message.body.size()) break;
    add(&message.sum, sizeof message.sum);
  }
  parts.count = count;
  return total;
}

bool SocketLink::send(LinkEvents* events) {
  size_t sent = 0;
  while (is_writable_ && !queue_.empty() && sent < kTurnBytes) {
    Parts parts;
    const size_t total = outgoing_parts(parts);
    msghdr message = {};
    message.msg_iov = parts.of.data();
    message.msg_iovlen = parts.count;
    const ssize_t went = ::sendmsg(fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (went < 0 && errno == EINTR) continue;
    if (went < 0 && errno != EAGAIN) {
      fail(std::strerror(errno));
      return true;
    }
    const size_t bytes = went < 0 ? 0 : static_cast<size_t>(went);
    if (bytes < total) is_writable_ = false;
    sent += bytes;
    advance(bytes, events);
  }
  return sent > 0;
}

void SocketLink::advance(size_t bytes, LinkEvents* events) {
  first_sent_ += bytes;
  while (!queue_.empty() && first_sent_ >= queue_.front().bytes()) {
    const Outgoing& first = queue_.front();
    first_sent_ -= first.bytes();
    const bool is_frame = first.is_frame();
    const uint64_t token = first.token;
    if (is_frame) {
      --frames_queued_;
      bytes_under_way_ -= static_cast<int64_t>(first.body.size());
    } else {
      --notes_ahead_;
    }
    queue_.pop_front();
    if (is_frame && events != nullptr) events->sent(spec_.index, token);
  }
}

}  // namespace crossdock::transports
