// A link over TCP: one connection between a NIC here and a NIC of a peer, and nothing between the segments of both
// sides and the kernel.
//
// A frame is written from the sender's segment, and read straight into the place that the receiver names; its checksum
// is made of each piece as it comes, while a cache still has it. Through UCX, whose frames come in buffers of its own,
// the bytes are read and written once more, milliseconds after they came.
//
// On the wire: a greeting each way, which says by a key whose connection this is, then messages, each a head and its
// body. Notes go before frames that have not begun to leave. What is no message ends the link.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <sys/uio.h>
#include <vector>

#include "base/descriptor.hpp"
#include "data/transports/link.hpp"

namespace crossdock::transports {

inline constexpr uint64_t kSocketMagic = 0x314B'4E4C'5453'4458;  // "XDSTLNK1"

// As they are on the wire.
struct SocketGreeting {
  uint64_t magic = kSocketMagic;
  uint64_t key = 0;  // of what comes from the sender of this
};
struct SocketHead {
  // kSummedFrame: behind the body stands the header's checksum, of 4 bytes.
  enum Kind : uint32_t { kFrame = 1, kNote = 2, kSummedFrame = 3 };
  uint32_t kind = kNote;
  uint32_t bytes = 0;           // of the body
  rings::SegmentHeader header;  // of a frame
};
static_assert(sizeof(SocketHead) == 72);

struct SocketLinkSpec {
  LinkIndex index = 0;
  PeerIndex peer = 0;
  std::string device;  // as the kernels name them
  std::string peer_device;
  double rate_bytes_per_s = 0;
  uint64_t key = 0;             // of what is sent
  uint64_t peer_key = 0;        // of what comes
  int64_t bytes_under_way = 0;  // limit of what was put and has not been written
  std::span<std::byte> waste;   // where bytes go that are not wanted
};

// One thread.
class SocketLink : public Link {
 public:
  explicit SocketLink(SocketLinkSpec spec) : spec_(std::move(spec)) {}

  PeerIndex peer() const override { return spec_.peer; }
  std::string name() const override;
  std::string device() const override { return spec_.device; }
  std::string peer_device() const override { return spec_.peer_device; }
  double rate_bytes_per_s() const override { return spec_.rate_bytes_per_s; }
  bool was_connected() const override { return is_greeted_; }
  bool takes(uint64_t bytes) const override;
  bool put(const rings::SegmentHeader& header,
           std::span<const std::byte> payload,
           uint64_t token) override;
  bool stamps() const override { return true; }
  bool put_unstamped(const rings::SegmentHeader& header,
                     std::span<const std::byte> payload,
                     uint64_t token) override;
  bool revoke(const std::byte* place) override;
  bool tell(std::span<const std::byte> note) override;
  void abandon() override;

  uint64_t peer_key() const { return spec_.peer_key; }
  int fd() const { return socket_.get(); }
  bool has_socket() const { return static_cast<bool>(socket_); }
  // A socket that connects: the greeting leaves when it has.
  void connect(Descriptor socket);
  // A connection of which the peer's greeting has come.
  void accept(Descriptor socket);
  // The first reason counts; the socket is closed, so that nothing of puts and places is touched any more.
  void fail(std::string why);

  // What epoll said of the socket, of which it reports changes only.
  void take_events(uint32_t events);
  // Reads and writes a bounded number of bytes. False: there was nothing to be done. Without `events` frames and notes
  // are dropped.
  bool turn(LinkEvents* events);
  // Whether turn() has something to do at once.
  bool has_work() const;
  bool is_over() const { return !why_.empty(); }
  // It is over, and that is not reported.
  bool is_failing() const { return !why_.empty() && !is_reported_; }
  void tell_lost(LinkEvents& events);
  // Whether all that was put and noted has reached the peer's kernel, as far as is known.
  bool is_drained() const;
  // Nothing more will be written: the peer hears so behind what is on the way.
  void finish();

 private:
  struct Outgoing {
    SocketHead head;
    std::span<const std::byte> body;
    uint64_t token = 0;
    std::vector<std::byte> note;  // what `body` is of
    size_t summed = 0;            // bytes of the body
    uint32_t sum = 0;

    bool is_frame() const { return head.kind != SocketHead::kNote; }
    size_t tail_bytes() const { return head.kind == SocketHead::kSummedFrame ? sizeof sum : 0; }
    size_t bytes() const { return sizeof head + body.size() + tail_bytes(); }
  };
  struct Parts {
    std::array<iovec, 32> of;
    size_t count = 0;
  };

  bool enqueue(SocketHead::Kind kind,
               const rings::SegmentHeader& header,
               std::span<const std::byte> payload,
               uint64_t token);
  void greet();
  bool receive(LinkEvents* events);
  size_t next_parts(std::array<iovec, 3>& parts);
  void take(size_t bytes, LinkEvents* events);
  void take_body(size_t bytes);
  void take_greeting();
  // Of what stands behind the body.
  size_t tail_left() const {
    return message_.kind == SocketHead::kSummedFrame ? sizeof peer_sum_ - tail_done_ : 0;
  }
  void begin_message(LinkEvents* events);
  void end_message(LinkEvents* events);
  void wait_for_more();
  bool send(LinkEvents* events);
  size_t outgoing_parts(Parts& parts);
  void advance(size_t bytes, LinkEvents* events);

  SocketLinkSpec spec_;
  Descriptor socket_;
  bool is_greeted_ = false;  // by the peer: the link takes frames and notes
  bool has_greeted_ = false;
  bool is_readable_ = false;
  bool is_writable_ = false;
  bool is_closing_ = false;   // the peer has ended it; what it wrote before can still be read
  bool is_reported_ = false;  // lost()
  std::string why_;           // it is over; "" if it is not

  std::deque<Outgoing> queue_;
  size_t notes_ahead_ = 0;  // in the queue, before all frames but one that has begun to leave
  size_t first_sent_ = 0;   // bytes of the first message
  size_t frames_queued_ = 0;
  int64_t bytes_under_way_ = 0;

  SocketGreeting greeting_;  // as far as it has come
  size_t greeting_bytes_ = 0;
  SocketHead next_head_;  // likewise
  size_t head_bytes_ = 0;
  SocketHead message_;  // that is being read
  size_t body_done_ = 0;
  size_t tail_done_ = 0;
  std::byte* place_ = nullptr;                     // null: it is not wanted
  std::chrono::steady_clock::time_point came_at_;  // the last of it
  bool is_summed_ = false;
  uint32_t sum_ = 0;
  uint32_t peer_sum_ = 0;  // the peer's, behind the body
  int least_bytes_ = 1;    // that the kernel tells of
  std::array<std::byte, kNoteBytesMax> note_;
};

}  // namespace crossdock::transports
