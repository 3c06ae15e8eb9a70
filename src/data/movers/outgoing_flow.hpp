// The sending end of a flow: which segment may leave, which has to go again, and when a slot is free.
//
// Segments [recycled, arrived) have arrived but are still read by a link; [arrived, next) are under way, or have
// arrived ahead of their turn. Memory: 72 bytes per slot. One thread, the mover's; no clock of its own.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "data/movers/mover.hpp"
#include "data/movers/notes.hpp"
#include "data/movers/path_choice.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring_consumer.hpp"

namespace crossdock::movers {

// A frame as it was last put.
struct Flight {
  double sent_at = 0;
  double timeout_s = 0;
  double overtaken_s = 0;  // the same, once a later one has arrived, if there is another path
  PathThen then;
  uint32_t bytes = 0;
  PathIndex path = kNoPath;
  uint16_t puts = 0;  // of it that links have not said to be sent
  uint8_t sends = 0;
  bool has_arrived = false;
  bool goes_again = false;
};

// Looked up again when others have overtaken, if that is late enough to matter.
inline constexpr double kOvertakenEveryS = 0.002;

class OutgoingFlow : public std::enable_shared_from_this<OutgoingFlow> {
 public:
  explicit OutgoingFlow(MovedFlow moved);

  const MovedFlow& moved() const { return moved_; }
  MovedFlowCounters counters;  // kept by who sends
  // Kept by who decides which flows are looked at.
  struct Turn {
    bool is_listed = false;
    bool is_waiting = false;   // is among those of its peer
    bool has_no_room = false;  // as of this step: all its links have as many frames as they may
    double due_s = std::numeric_limits<double>::infinity();  // for which it stands in line
    uint64_t counted_bytes = 0;                              // of its window
  };
  Turn turn;

  // The next segment that has never left, or null. Counts no credit: is_held_back() says whether that is why.
  const std::byte* fresh();
  bool is_held_back();
  uint64_t next() const { return next_; }
  // What it may have under way at a time; 0 if it has nothing under way, or has ended.
  uint64_t window_bytes() const;
  // What is known when frames are looked for that are late.
  struct Evidence {
    double now = 0;
    double overtaken_at = 0;  // a frame to the same process that was put then has arrived
    SoundPaths sound;
  };
  // Whether there is something to do for it though nothing happens: it waits for a link, or something is due.
  bool has_work(double now);
  bool goes_again() const { return again_ > 0; }  // a segment of it
  // A segment that has to go again, if any: due, or lost with its link.
  std::optional<uint64_t> again(const Evidence& evidence);
  const std::byte* segment(uint64_t sequence) const;
  const Flight& flight(uint64_t sequence) const { return flights_[slot_of(sequence)]; }

  // The segment was put on a path. `sequence` is next(), or one that goes again.
  void put(uint64_t sequence, const Flight& flight);
  // A put is over: sent, or lost with its link.
  void sent(uint64_t sequence);
  // All that was last put on the path, and has not arrived, goes again.
  void path_lost(PathIndex path);

  // What the other end says. The flights that it says have arrived, and had not, are appended. CD-613 if it cannot be.
  Status acknowledge(const NoteEntry& credit, double now, std::vector<Flight>& arrived);
  // Whether slots were given back since the last call.
  bool take_recycled();

  // The entry that is to be sent now, if any: the total, or a question.
  std::optional<NoteEntry> to_tell(double now);
  bool has_noted(NoteKind kind) const { return (kind == NoteKind::kTotal ? totals_ : asks_) > 0; }
  void noted(NoteKind kind, double now);
  void tell_again() { totals_ = 0; }  // a link that notes went over is lost
  void total_seen() { is_total_seen_ = true; }
  // The other end does not know the flow. Answers since when it says so.
  double unknown_since(double now);

  // Flights that have not arrived, as they were last put.
  std::vector<Flight> unacknowledged() const;
  bool has_arrived() const;  // all of it
  bool is_total_seen() const { return is_total_seen_; }
  bool is_through() const { return is_total_seen_ && has_arrived(); }
  // From now on the flow's memory is not touched; what links read of it is `keep`'s matter.
  void close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }
  double next_due_s() const;
  std::string state() const;

 private:
  rings::RingConsumer<rings::CpuRingTraits> consumer() const {
    return rings::RingConsumer<rings::CpuRingTraits>(moved_.flow.ring);
  }
  uint64_t slots() const { return moved_.flow.ring.slots(); }
  uint64_t slot_of(uint64_t sequence) const { return moved_.flow.ring.slot_of(sequence); }
  bool arrive(uint64_t sequence, std::vector<Flight>& arrived);
  void recycle();
  void send_again(uint64_t sequence);
  void look_for_due(const Evidence& evidence);

  MovedFlow moved_;
  std::vector<Flight> flights_;  // by slot
  uint64_t recycled_ = 0;
  uint64_t arrived_ = 0;
  uint64_t next_ = 0;
  uint64_t remote_head_ = 0;
  int again_ = 0;            // flights that go again
  double look_at_;           // when one may be due
  double overtaken_at_ = 0;  // as it was when look_at_ was found
  bool has_recycled_ = false;
  bool is_total_seen_ = false;
  bool is_closed_ = false;
  double total_at_ = 0;  // when the total is sent next, and how often it was
  int totals_ = 0;
  bool is_asking_ = false;
  double ask_at_ = 0;
  int asks_ = 0;
  double unknown_since_ = -1;
};

}  // namespace crossdock::movers
