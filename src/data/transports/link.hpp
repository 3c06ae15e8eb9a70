// Links: one way to another process, through one NIC or one socket, and the transports that drive them.
//
// A link carries frames (a segment for a flow) and notes (a few bytes about flows) in the order they were put in, but
// promises no arrival: flows number their segments and ask again, over another link if one is lost. All calls come from
// one thread, the mover's; nothing here blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/rings/actor.hpp"
#include "data/rings/segment_header.hpp"

namespace crossdock::transports {

using PeerIndex = uint32_t;  // a process: its rank in the group
using LinkIndex = uint32_t;  // of a transport's link, given in order
inline constexpr size_t kNoteBytesMax = 1024;

// Where what arrives goes; the mover. Called from within progress().
class LinkEvents {
 public:
  virtual ~LinkEvents() = default;
  // Where the header.bytes bytes of a frame's payload are to be written, or null if it is not wanted (then the bytes
  // are taken off the wire and dropped). Header fields may be anything.
  virtual std::byte* place(LinkIndex link, const rings::SegmentHeader& header) = 0;
  // They are there. Frames may be placed in another order than they were placed in, and of the header the checksum may
  // be known only now.
  virtual void placed(LinkIndex link, const rings::SegmentHeader& header, std::byte* payload) = 0;
  // Whether the checksum of a frame that has its place will be looked at. A link that copies the payload there itself
  // then sums it up on the way (copy_payload), and tells so.
  virtual bool wants_sum([[maybe_unused]] const rings::SegmentHeader& header) const {
    return false;
  }
  virtual void placed_with_sum(LinkIndex link,
                               const rings::SegmentHeader& header,
                               std::byte* payload,
                               [[maybe_unused]] uint32_t checksum) {
    placed(link, header, payload);
  }
  virtual void noted(LinkIndex link, std::span<const std::byte> note) = 0;
  // The bytes of a put are no longer read. It says nothing about arrival.
  virtual void sent(LinkIndex link, uint64_t token) = 0;
  // The link is over: from now on the bytes of its puts are not read, nor places written that it was given, and nothing
  // more is said about them. Called once.
  virtual void lost(LinkIndex link, const Error& cause) = 0;
};

class Link {
 public:
  virtual ~Link() = default;
  virtual PeerIndex peer() const = 0;
  virtual std::string name() const = 0;         // "eth0 to rank 3": for traces and errors
  virtual double rate_bytes_per_s() const = 0;  // as the path is planned; 0: unknown
  // The NIC here and the one there, as their kernels name them ("eth0", "mlx5_0"); "": unknown.
  virtual std::string device() const { return ""; }
  virtual std::string peer_device() const { return ""; }
  // Whether the process at the other end has ever answered.
  virtual bool was_connected() const { return true; }
  // Whether put() would take a payload of so many bytes now, as far as is known without trying.
  virtual bool takes([[maybe_unused]] uint64_t bytes) const { return true; }
  // Starts to send; header and payload stay until sent(token). False: not now, and nothing is said of it. Tells no
  // events itself.
  virtual bool put(const rings::SegmentHeader& header,
                   std::span<const std::byte> payload,
                   uint64_t token) = 0;
  // Whether the link makes checksums of payloads itself, piece by piece as they leave, if put_unstamped() asks for it:
  // who waits for room has each byte read once, and not again when a cache has lost it.
  virtual bool stamps() const { return false; }
  // As put(), of a header that has all but its checksum, which the other side gets behind the payload.
  virtual bool put_unstamped(const rings::SegmentHeader& header,
                             std::span<const std::byte> payload,
                             uint64_t token) {
    return put(header, payload, token);
  }
  // The place was given to a frame of which nothing comes any more: it is not written from now on, and what still comes
  // of the frame is dropped. False: it may be written yet.
  virtual bool revoke([[maybe_unused]] const std::byte* place) { return false; }
  // Copies. False: not now. note.size() <= kNoteBytesMax.
  virtual bool tell(std::span<const std::byte> note) = 0;
  // Nothing has come back over the link for too long: ends it, so that lost() is called by a later progress(). A link
  // that has ways of its own to find out may leave it at those; until lost() the bytes of its puts stay.
  virtual void abandon() {}
};

// A rank with which a transport shares no network.
struct Unreached {
  PeerIndex peer = 0;
  std::string why;  // "no network device of ...": names what there is at both ends
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Some bounded work; events go to `events`.
  virtual rings::Step progress(LinkEvents& events) = 0;
  // Makes ready for sleep: true if nothing has come meanwhile, and wait_fd() will be readable when something does.
  virtual bool arm() = 0;
  virtual int wait_fd() const = 0;         // -1: none, is to be polled
  virtual std::vector<Link*> links() = 0;  // all to all peers; indices are places in this
  // What other ranks need to reach this one. Opaque.
  virtual std::string address() const = 0;
  // Connects to ranks by what their address() answered, addresses[rank]; "" for those not wanted and for oneself.
  // Returns when links exist; they may still be shaking hands. Answers the ranks, ascending, that nothing here leads
  // to: they have no link, all others have one or more. Both ends of a pair come to the same answer. CD-613 for what is
  // no address.
  virtual Result<std::vector<Unreached>> connect(std::span<const std::string> addresses) = 0;
};

}  // namespace crossdock::transports
