// Channels: rows from sources to destinations, by send, flush and recv (MGI, section 3.1).
//
// A source sends through one Sender per block (a worker thread), a destination takes through Receivers, of which
// several share the work. Nothing waits unless it is called wait or takes a drain: send answers 0 when there is no
// room, recv answers kNothing when nothing is there. What was accepted arrives once, or every end of the channel gets
// the cause. docs/concept-channels.md says who may wait for whom.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "data/segments/row_layout.hpp"
#include "data/sorters/row_router.hpp"
#include "table/column.hpp"

namespace crossdock::channels {

inline constexpr int kChannelEndpointsMax = 65'536;  // sources, and destinations
inline constexpr int kSlotBitsByDistance = -1;

struct ChannelSpec {
  uint64_t id = 0;  // the same in all processes, and never used again
  SchemaPtr schema;
  // Which rank has which endpoint; an endpoint may be source and destination.
  std::vector<int> source_ranks;
  std::vector<int> destination_ranks;
  // The rules of send: by the key, where the caller says, or to all.
  enum class Sends : uint8_t { kRouted, kNamed, kBroadcast } sends = Sends::kRouted;
  sorters::RouteSpec route;  // kRouted; its `destinations` is set by the channel
  // kNamed: per source the destinations that it may send to, ascending. Flows are made for these pairs alone. Empty:
  // each source to all.
  std::vector<std::vector<uint16_t>> reach;
  int senders_per_source = 1;  // blocks; the source ends when all have flushed
  segments::RowLayoutOptions segment;
  // 2^slot_bits segments per flow. kSlotBitsByDistance: 8, and between hosts more where a source has few flows.
  int slot_bits = kSlotBitsByDistance;
  // Of the flows of one process; CD-201 if they would take more.
  int64_t memory_bytes_max = int64_t{1} << 30;
  double open_within_s =
      0;  // of this rank: how long it waits for the others; 0: as DataPlaneSettings say
};

struct Received {
  enum class Kind : uint8_t { kNothing, kRows, kEnd } kind = Kind::kNothing;
  // Of the layout's received_schema(). They lie in the segment, which the source can fill again when `rows.owner` and
  // all its copies are dropped: a receiver that keeps many keeps the source waiting. Copies may outlive the channel.
  Batch rows;
  int source = 0;                     // whose they are
  std::span<const uint16_t> carried;  // the hidden lane, if the layout has one; lives as `rows`
};

// One thread at a time. Outlives its channel safely: then every call answers the cause. Dropped before its flush is
// done, it closes the channel, since the destinations could never know the end.
class Sender {
 public:
  virtual ~Sender() = default;
  // Takes the whole batch (kept until its rows are in rings) and answers its rows, or 0 if rows of the one before are
  // still waiting; each call moves those on. A batch without rows is taken at any time. Best are some 10,000 rows: a
  // sender keeps 8 bytes for each row of the batch. Its types may be others, as check_sent_schema says; where a row
  // goes does not depend on that. Errors: of check_sent_schema, RowRouter and SegmentFiller (nothing of the batch is
  // sent); the cause if the channel is over; CD-105 after flush_begin, and where the channel wants names.
  virtual Result<int64_t> send(const Batch& rows) = 0;
  // All to one destination, whatever the key (not on a broadcast). CD-105: no destination that this source reaches.
  virtual Result<int64_t> send_to(const Batch& rows, int destination) = 0;
  // Row i to destinations[i]. `carried` fills the hidden lane of a layout that has one; without, the destinations do.
  virtual Result<int64_t> send_each(const Batch& rows,
                                    std::span<const uint16_t> destinations,
                                    std::span<const uint16_t> carried) = 0;
  // Moves rows that wait on, as each of the calls above does first; true when none wait, so that a batch can be taken.
  virtual Result<bool> advance() = 0;
  // This block is through. flush_done: all its rows are where the destinations can take them; each call moves rows on.
  virtual Status flush_begin() = 0;
  virtual Result<bool> flush_done() = 0;
  // Sleeps until there may be room. Answers early now and then.
  virtual void wait(std::chrono::microseconds at_most) = 0;

  // Both until done; `drain` is called in turn, so that an endpoint that is a destination too can take rows meanwhile.
  Status flush(const std::function<Status()>& drain = {});
  // send() until it is accepted.
  Status send_all(const Batch& rows, const std::function<Status()>& drain = {});
};

// One thread at a time; several receivers of one destination share its rows. If the last one is dropped before the end,
// that closes the channel, since the sources could wait forever.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // kEnd once all sources have ended and everything was taken (by all receivers of the destination together); again
  // whenever asked. Error: the cause if the channel is over; CD-901 with source and counts if rows are missing.
  virtual Result<Received> recv() = 0;
  // Sleeps until there may be rows. Answers early now and then.
  virtual void wait(std::chrono::microseconds at_most) = 0;
};

struct FlowCounters {
  int level = 1;               // of a shuffle in two levels, 1 or 2
  int source = 0, outlet = 0;  // the destination; of a broadcast the process, in the order of ranks
  bool begins_here = false, ends_here = false;  // which of its ends are of this process
  uint16_t failed = 0;  // of a flow between hosts: the ErrorCode that ended it too early, or 0
  // Of the ring: one, where both ends share memory; where its end is on another host, each has its own, and segments of
  // the source's are recycled when they have arrived in the other.
  uint64_t slots = 0;      // segments that it has room for
  uint64_t published = 0;  // that are, or were, ready to be taken; in order
  uint64_t recycled = 0;   // whose slots are free again
  // Of its begin.
  uint64_t opened = 0;             // segments that the source has begun to fill
  uint64_t rows_sent = 0;          // by senders that have flushed
  uint64_t resent = 0;             // segments that went over a link once more
  uint64_t stalled_ring_full = 0;  // turns of a sender after which rows still waited for room
  uint64_t stalled_no_credit = 0,
           stalled_link_full = 0;  // turns of the mover in which that kept a segment
  // Of its end. A broadcast counts each of its destinations here, and waits for the slowest.
  uint64_t taken = 0;    // segments, by receivers
  uint64_t waiting = 0;  // that are there, and not taken
  uint64_t rows_taken = 0;
  uint64_t bytes_taken = 0;  // what these rows take in full segments, and their strings
};

struct ChannelCounters {
  std::vector<FlowCounters> flows;  // with an end in this process
  uint64_t refused = 0;             // sends that were answered with 0, for want of room
};

// Thread-safe. Dropping the last pointer closes the channel with CD-618 for those that still use it.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual uint64_t id() const = 0;
  virtual const segments::RowLayout& layout() const = 0;
  // Whether all processes have their part; until then send answers 0 and recv kNothing. Error: the cause if it is over.
  virtual Result<bool> is_ready() const = 0;
  // CD-105: not of this rank, or all senders of the source are open.
  virtual Result<std::unique_ptr<Sender>> open_sender(int source) = 0;
  virtual Result<std::unique_ptr<Receiver>> open_receiver(int destination) = 0;
  // Ends it for everybody, with the cause; callers that send, receive or sleep get it. The first cause stays. Buffers
  // go when the channel, its senders and receivers, and the last batch are dropped.
  virtual void close(const Error& cause) = 0;
  virtual ChannelCounters counters() const = 0;
  virtual int64_t memory_bytes() const = 0;  // of its flows in this process
};

}  // namespace crossdock::channels
