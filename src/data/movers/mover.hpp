// The mover of a process: mirrors flows to and from other processes over links.
//
// Outgoing: of each flow that has published segments and credit (segment n may leave once the other end has recycled
// n - slots), the next goes over the path that has room, the widest first; a flow without credit stands back for the
// next (MGI, section 5.4). A slot is given back when the other end has said that the segment arrived, so what a lost
// link had under way goes again over the others; the other end knows by the number what it has already. Incoming: the
// number says in which slot a segment goes. Bounds: `outstanding` frames per link, `slots` segments per flow.
//
// Everything is done in step() by one thread; the rest may be called by any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/rings/actor.hpp"
#include "data/rings/doorbell.hpp"
#include "data/rings/flow.hpp"
#include "data/segments/row_layout.hpp"
#include "data/transports/link.hpp"

namespace crossdock {

struct FlowId {
  uint64_t channel = 0;
  uint16_t source = 0;
  uint16_t outlet = 0;

  auto operator<=>(const FlowId&) const = default;
};

// One end of a flow whose other end is in another process.
struct MovedFlow {
  FlowId id;
  PeerIndex peer = 0;
  Flow flow;
  std::shared_ptr<const RowLayout> layout;
  // Rung when the mover has done something here: recycled a slot (outgoing), published a segment or the end (incoming).
  std::vector<Doorbell> doorbells;
  std::shared_ptr<const void> keep;  // owns the memory of all that
};

// A way to a process: straight, or with one process in the middle that passes frames on.
struct PathTo {
  PeerIndex peer = 0;
  LinkIndex first = 0;      // among the links of all transports, in order
  bool is_relayed = false;  // the link ends at another process, which knows the rest
};

struct MoverSettings {
  int outstanding = 4;          // frames under way per link
  double lost_after_s = 10;     // without a word from a peer
  double resend_after_s = 0.5;  // a frame not acknowledged while others of its flow were
  double keepalive_s = 1;
  bool checksums = true;
};

struct LinkCounters {
  std::string name;
  uint64_t frames_sent = 0, bytes_sent = 0, frames_received = 0, bytes_received = 0;
  uint64_t notes_sent = 0, notes_received = 0, resent = 0, duplicates = 0, relayed = 0;
  uint64_t stalled_no_credit = 0, stalled_link_full = 0;  // turns in which that kept a flow back
  bool is_lost = false;
};

class Mover : public Actor {
 public:
  // `now_s`: a steady clock. Transports live as long as the mover. on_failure: told once per channel, from step().
  Mover(int rank,
        std::vector<Transport*> transports,
        std::vector<PathTo> paths,
        MoverSettings settings,
        std::function<double()> now_s,
        std::function<void(uint64_t channel, const Error& cause)> on_failure);
  ~Mover() override;

  void add_outgoing(MovedFlow flow);
  void add_incoming(MovedFlow flow);
  // The flows of a channel are no longer touched when it returns.
  void remove(uint64_t channel);
  // Tells all peers of the channel that it is over, with the cause; remove() comes later.
  void fail(uint64_t channel, const Error& cause);
  // An outgoing flow has news: segments, or its end.
  void wake();

  Step step() override;  // kDone never
  std::string state() const override;
  // Sleeps until something arrives, somebody wakes it, or the time is over. By the thread that steps.
  void wait(std::chrono::microseconds at_most);

  std::vector<LinkCounters> counters() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace crossdock
