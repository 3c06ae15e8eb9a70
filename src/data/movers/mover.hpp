// The mover of a process: mirrors flows to and from other processes over links.
//
// Outgoing: of each flow that has published segments and credit (segment n may leave once the other end has recycled
// n - slots), the next goes over the path that will be through with it first; a flow without credit stands back for the
// next (MGI, section 5.4). A slot is given back when the other end has said that the segment arrived, so what a lost
// link had under way goes again over the others; the other end knows by the number what it has already. Incoming: the
// number says in which slot a segment goes. docs/concept-movers.md says why each rule is as it is.
//
// Bounds: `outstanding` frames per link and as many passed on for others, `slots` segments per flow, a buffer of a
// segment per frame under way that is packed, `transit` frames held per link for others. Cost of a step: a look at each
// flow that something has happened to (or at all, if a thread did not say which), and at most kFramesPerStep frames.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/movers/flow_id.hpp"
#include "data/rings/actor.hpp"
#include "data/rings/doorbell.hpp"
#include "data/rings/flow.hpp"
#include "data/segments/row_layout.hpp"
#include "data/transports/link.hpp"

namespace crossdock::movers {

// The place of a path among Mover::Parts::paths.
using PathIndex = uint32_t;

// One end of a flow whose other end is in another process.
struct MovedFlow {
  FlowId id;
  transports::PeerIndex peer = 0;
  rings::Flow flow;
  std::shared_ptr<const segments::RowLayout> layout;
  // Those of its peer that an outgoing flow may use; none named: all. The channel is over (CD-602) when the last of
  // them is lost, even if the peer has others: who plans paths decides whether there are ways around.
  std::vector<PathIndex> paths;
  // Rung when the mover has done something here: recycled a slot (outgoing), published a segment or the end (incoming),
  // or when the flow failed.
  std::vector<rings::Doorbell> doorbells;
  std::shared_ptr<const void> keep;  // owns the memory of all that
};

// A way to a process: straight, or with one process in the middle that passes frames on.
struct PathTo {
  transports::PeerIndex peer = 0;
  transports::LinkIndex first = 0;  // among the links of all transports, in order
  // The link ends at another process, which has a straight path to the peer.
  bool is_relayed = false;
  double rate_bytes_per_s = 0;  // of the whole path; 0: that of the link
};

// How long a note of what has arrived waits for company at most, while the mover has other things to do.
inline constexpr double kNotedWithinS = 0.001;

// The same in all ranks of a group.
struct MoverSettings {
  int outstanding = 4;       // frames under way per link
  double lost_after_s = 10;  // without a word from a peer
  // Without a word over a link that holds frames, while its peer is heard over others.
  double stalled_after_s = 2;
  double resend_after_s = 0.5;  // at least: a frame not acknowledged while others were
  double keepalive_s = 1;
  bool checksums = true;
  int transit = 8;  // frames per link that are on their way through the process at its other end
  uint32_t transit_bytes_max = 16 << 20;  // a longer frame is not passed on
  // Every segment of a flow goes over one path, chosen by the flow's name: what choosing by occupancy is compared with.
  bool is_static = false;
};

struct LinkCounters {
  std::string name;
  std::string device;           // the NIC here; "": unknown
  double rate_bytes_per_s = 0;  // as its kernel says; 0: unknown
  transports::PeerIndex peer = 0;
  uint64_t frames_under_way = 0, bytes_under_way = 0;  // now: put, and not known to be sent
  // Everything put on the link and taken from it, also what was resent or is passed on for others.
  uint64_t frames_sent = 0, bytes_sent = 0, frames_received = 0, bytes_received = 0;
  uint64_t notes_sent = 0, notes_received = 0;
  uint64_t resent = 0;         // of frames_sent: segments that had been sent before
  uint64_t duplicates = 0;     // of frames_received: segments that were there already
  uint64_t relayed = 0;        // of frames_sent: segments of others, passed on
  uint64_t notes_relayed = 0;  // of notes_sent: notes of others, passed on
  uint64_t dropped = 0;  // of frames_received: without a place here, or not for anybody known here
  uint64_t malformed = 0;                                 // frames and notes that cannot be read
  uint64_t stalled_no_credit = 0, stalled_link_full = 0;  // turns in which that kept a flow back
  bool is_lost = false;
};

class Mover : public rings::Actor {
 public:
  struct Parts {
    int rank = 0;
    // Connected; used by step() and wait() alone. Who ends both ends the transports first: the mover keeps the memory
    // that their links still read and write.
    std::vector<transports::Transport*> transports;
    std::vector<PathTo> paths;
    MoverSettings settings;
    std::function<double()> now_s;  // a steady clock
    // Called once per channel that failed here or elsewhere, but for one's own fail(); from step(), which then holds no
    // lock, so any call below may be made in it.
    std::function<void(uint64_t channel, const Error& cause)> on_failure;
    // Called in the same way when the last path to a process that was connected is lost, whether a channel is open or
    // not: it has ended, or nothing joins it to this one any more. May be empty.
    std::function<void(transports::PeerIndex rank, const Error& cause)> on_lost_rank;
  };

  explicit Mover(Parts parts);
  ~Mover() override;
  // CD-201 or CD-603 if the system gave it no descriptor to sleep on; then it must not wait().
  Status ready() const;

  // Any thread. Both ends have flows of one shape; the incoming end is added before the outgoing one may have segments.
  // Before the first segment comes, the ring is empty.
  void add_outgoing(MovedFlow flow);
  void add_incoming(MovedFlow flow);
  // The flows of a channel are no longer touched when it returns; bytes that a link is still sending, or still writing,
  // stay where they are by the flow's `keep`. A channel that was not through is over for all its peers (CD-618).
  void remove(uint64_t channel);
  // Tells all processes that the channel is over, with the cause, and fails its flows here; remove() comes later.
  void fail(uint64_t channel, const Error& cause);
  // Flows have news: outgoing ones segments or their end, incoming ones free slots. Cheap while the mover is awake; who
  // does not say which makes it look at all of them.
  void wake(std::span<const FlowId> flows);
  void wake();

  // kDone never; kIdle: nothing can be done before something arrives, a thread calls, or it is next_due_s().
  rings::Step step() override;
  std::string state() const override;
  // When step() has something to do though nothing has happened, on the clock of now_s. By the thread that steps.
  double next_due_s() const;
  // Sleeps until something arrives, a thread wakes it, one of also_fds is readable, or the time is over. By the thread
  // that steps.
  void wait(std::chrono::microseconds at_most, std::span<const int> also_fds = {});

  // Any thread. Whether all that the peers have to know was sent and acknowledged: the totals of flows that are through
  // and the failures. A process that leaves before takes the end of a channel for others with it.
  bool is_settled() const;
  // Any thread; by link, in order.
  std::vector<LinkCounters> counters() const;
  // Any thread; of the outgoing flows of a channel.
  std::vector<MovedFlowCounters> flow_counters(uint64_t channel) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace crossdock::movers
