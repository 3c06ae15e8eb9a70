// Channels: rows from sources to destinations, by send, flush and recv (MGI, section 3.1).
//
// A source sends through one Sender per block (a worker thread), a destination takes through Receivers, of which
// several share the work. Nothing waits unless it is called wait or has a deadline: send answers 0 when there is no
// room, recv answers kNothing when nothing is there. What was accepted arrives once, or every end of the channel gets
// the cause.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/segments/row_layout.hpp"
#include "data/sorters/row_router.hpp"
#include "table/column.hpp"

namespace crossdock {

struct ChannelSpec {
  uint64_t id = 0;  // the same in all processes, and never used again
  SchemaPtr schema;
  // Which rank has which endpoint; an endpoint may be source and destination. Up to 65,536 each.
  std::vector<int> source_ranks;
  std::vector<int> destination_ranks;
  enum class Sends : uint8_t { kRouted, kNamed, kBroadcast } sends = Sends::kRouted;
  RouteSpec route;             // kRouted; its `destinations` is set by the channel
  int senders_per_source = 1;  // blocks; the source ends when all have flushed
  RowLayoutOptions segment;
  int slot_bits = 3;  // 2^slot_bits segments per flow
  int64_t memory_bytes_max = int64_t{1}
                          << 30;  // of the flows of one process; CD-201 if they would take more
};

struct Received {
  enum class Kind : uint8_t { kNothing, kRows, kEnd } kind = Kind::kNothing;
  Batch
      rows;  // of the channel's received_schema(); lies in the segment, which is given back when its owner is dropped
  int source = 0;  // whose they are
};

// One thread at a time. Outlives its channel safely: then every call answers the cause.
class Sender {
 public:
  virtual ~Sender() = default;
  // Takes the whole batch (kept until its rows are in rings) and answers its rows, or 0 if rows of the one before are
  // still waiting; each call moves those on. Errors: of RowRouter and SegmentFiller (nothing of the batch is sent); the
  // cause if the channel is over; CD-105 after flush_begin.
  virtual Result<int64_t> send(const Batch& rows) = 0;
  // Sends::kNamed: to one destination.
  virtual Result<int64_t> send_to(const Batch& rows, int destination) = 0;
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

// One thread at a time; several receivers of one destination share its rows.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // kEnd once all sources have ended and everything was taken (by all receivers of the destination together); again
  // whenever asked. Error: the cause if the channel is over; CD-901 with source and counts if rows are missing.
  virtual Result<Received> recv() = 0;
  virtual void wait(std::chrono::microseconds at_most) = 0;
};

struct FlowCounters {
  int source = 0, outlet = 0;
  uint64_t segments = 0, rows = 0, recycled = 0;  // as far as this process knows
  uint64_t full = 0;                              // times a sender found no room
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual uint64_t id() const = 0;
  virtual const RowLayout& layout() const = 0;
  // CD-105: not of this rank, or all senders of the source are open.
  virtual Result<std::unique_ptr<Sender>> open_sender(int source) = 0;
  virtual Result<std::unique_ptr<Receiver>> open_receiver(int destination) = 0;
  // Ends it for everybody, with the cause; whoever sends or receives gets it. Buffers go when the last batch is
  // dropped.
  virtual void close(const Error& cause) = 0;
  virtual std::vector<FlowCounters> counters() const = 0;
  virtual int64_t memory_bytes() const = 0;  // of its flows in this process
};

}  // namespace crossdock
