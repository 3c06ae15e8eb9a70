// What a mover knows, for the files that make up the mover.
#pragma once

#include <atomic>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "data/movers/frames_under_way.hpp"
#include "data/movers/incoming_flow.hpp"
#include "data/movers/mover.hpp"
#include "data/movers/notes.hpp"
#include "data/movers/outgoing_flow.hpp"
#include "data/movers/path_choice.hpp"
#include "data/movers/transit.hpp"
#include "data/movers/wake_gate.hpp"

namespace crossdock::movers {

inline constexpr double kNeverDue = std::numeric_limits<double>::infinity();

// An entry for a peer that belongs to no flow here any more, or answers it.
struct Answer {
  NoteEntry entry;
  std::string text;
};

// Another process, and the flows with it. Kept small: a process of a large exchange has one for each other.
struct Peer {
  std::vector<std::shared_ptr<OutgoingFlow>> outgoing;
  std::vector<std::shared_ptr<IncomingFlow>> incoming;
  // Those of them that a step looks at: something has happened to them, is due, or waits for a link. Others rest.
  std::vector<OutgoingFlow*> sending;
  std::vector<IncomingFlow*> noting;
  std::vector<OutgoingFlow*>
      waiting;           // until a link that leads here has sent something; not looked at before
  bool is_busy = false;  // is among State::busy_
  size_t next_outgoing = 0;   // whose turn it is to send
  bool is_repeating = false;  // a note that was not answered is sent again: over another path
  uint64_t note_turn = 0;     // which
  uint64_t skips_paths = 0;   // of the note that is being written
  std::vector<Answer> answers;
  std::vector<std::vector<std::byte>> passing;  // notes of others for it
  double heard_at = 0;
  double overtaken_at = 0;       // the latest put of a frame to it that has arrived
  double overtaken_seen_at = 0;  // the same, when its flows were looked at for it
  // Of flows that are at work, and not near their end: now, and when the step began to send.
  uint64_t counted_bytes = 0;
  uint64_t window_bytes = 0;
  bool is_needed = false;  // a flow with it is not through
  double needed_since = 0;
};

// A channel that is over before its end. Kept after remove(), to answer who still sends.
struct Failure {
  ErrorCode code;
  std::string text;
  std::set<transports::PeerIndex> unaware;  // who has not acknowledged it
  double since = 0;
  double tell_at = 0;
  int times = 0;
};

// The total of an outgoing flow that was removed, all of which has arrived; sent until it is acknowledged.
struct LastTotal {
  transports::PeerIndex peer = 0;
  NoteEntry entry;
  double since = 0;
  double tell_at = 0;
};

struct AddFlow {
  MovedFlow flow;
  bool is_outgoing;
};
struct FailChannel {
  uint64_t channel;
  Error cause;
};
using Command = std::variant<AddFlow, FailChannel>;

class Mover::State {
 public:
  explicit State(Parts parts);

  // Any thread.
  void command(Command command);
  void wake();
  void wake(std::span<const FlowId> flows);
  void remove(uint64_t channel);
  std::vector<LinkCounters> counters();
  std::vector<MovedFlowCounters> flow_counters(uint64_t channel);
  bool is_settled();

  rings::Step step();
  std::string text() const;
  double next_due_s() const { return next_due_s_; }
  void wait(std::chrono::microseconds at_most, std::span<const int> also_fds);
  WakeGate& gate() { return gate_; }

  // What links tell (LinkEvents), by the link's place among all.
  std::byte* place(transports::LinkIndex link, const rings::SegmentHeader& header);
  bool wants_sum(const rings::SegmentHeader& header) const;
  void placed(transports::LinkIndex link,
              const rings::SegmentHeader& header,
              std::byte* payload,
              std::optional<uint32_t> checksum);
  void noted(transports::LinkIndex link, std::span<const std::byte> note);
  void sent(transports::LinkIndex link, uint64_t token);
  void lost(transports::LinkIndex link, const Error& cause);

 private:
  class TransportEvents;
  using Failed = std::pair<uint64_t, Error>;
  struct Placement {
    transports::LinkIndex link;
    rings::SegmentHeader header;
    std::byte* payload;
    std::shared_ptr<IncomingFlow> flow;
  };
  // When a flow is to be looked at again, if nothing happens to it before.
  struct Due {
    double at_s = 0;
    FlowId flow;  // outgoing
    bool operator<(const Due& other) const { return at_s > other.at_s; }
  };
  struct Item {
    NoteEntry entry;
    IncomingFlow* incoming;
    OutgoingFlow* outgoing;
  };

  // mover_turns.cpp: which flows and peers a step looks at.
  void look_at(OutgoingFlow& flow);
  void look_at(IncomingFlow& flow);
  void look_at_flow(const FlowId& flow);
  void look_at_all();
  void make_busy(transports::PeerIndex rank);
  void look_at_waiting(transports::LinkIndex link);
  void take_news();
  void take_due();
  void overtaken(Peer& peer, double sent_at);
  void put_in_turn();
  void count_window(OutgoingFlow& flow);
  void rest();
  bool rests(OutgoingFlow& flow);
  bool rests(IncomingFlow& flow);
  void find_next_due();

  // mover_flows.cpp: flows come and go.
  std::unique_lock<std::mutex> lock_between_steps();
  bool drain();
  void add(AddFlow add);
  void remove_now(uint64_t channel);
  void take_out(OutgoingFlow& flow);
  void take_out(IncomingFlow& flow);
  void remove_incoming(IncomingFlow& flow);
  void remove_outgoing(OutgoingFlow& flow);
  void detach(uint64_t channel, ErrorCode why);
  std::vector<std::shared_ptr<OutgoingFlow>> outgoing_of(uint64_t channel) const;
  std::vector<std::shared_ptr<IncomingFlow>> incoming_of(uint64_t channel) const;
  static void ring(const MovedFlow& flow);

  // mover_frames.cpp: frames leave and arrive.
  FrameWanted frame_of(const OutgoingFlow& flow) const;
  bool send_frames();
  bool send(OutgoingFlow& flow, uint64_t sequence, PathIndex path);
  bool send_again(OutgoingFlow& flow, uint64_t sequence);
  bool send_fresh(OutgoingFlow& flow);
  void refused(transports::LinkIndex link);
  bool pass_on();
  bool pass_one(transports::PeerIndex to);
  PathIndex choose_again(const OutgoingFlow& flow, const Flight& before);
  void remember(Flight& flight);
  void forget(const Flight& flight);
  std::byte* place_own(transports::LinkIndex link, const rings::SegmentHeader& header);
  bool take_from_silent(IncomingFlow& flow, uint64_t sequence);
  void answer_stray(const FlowId& flow, transports::PeerIndex from, NoteKind kind);

  // mover_notes.cpp: notes leave and arrive.
  bool send_notes(bool is_idle);
  bool collect(Peer& peer, bool is_idle);
  bool tell(transports::PeerIndex to, Peer& peer);
  bool tell_on(transports::LinkIndex link, transports::PeerIndex to, const NoteEntry& entry);
  bool tell_bytes(transports::LinkIndex link, std::span<const std::byte> note);
  bool pass_notes();
  void pass_note(transports::LinkIndex link, const NoteHead& head, std::span<const std::byte> note);
  void answer(transports::PeerIndex to, const NoteEntry& entry, std::string text = {});
  void take(transports::LinkIndex link, transports::PeerIndex from, const NoteEntry& entry);
  void take_credit(transports::LinkIndex link, transports::PeerIndex from, const NoteEntry& entry);
  void take_total(transports::LinkIndex link, transports::PeerIndex from, const NoteEntry& entry);
  void take_total_seen(transports::PeerIndex from, const NoteEntry& entry);
  void take_unknown(transports::PeerIndex from, const NoteEntry& entry);
  void take_failed(transports::PeerIndex from, const NoteEntry& entry);

  // mover_failures.cpp: what is over, and how it is noticed.
  void fail(uint64_t channel, const Error& cause, bool is_own);
  void fail_all_with(transports::PeerIndex peer, const std::string& why);
  void fail_without_path(transports::PeerIndex peer, const std::string& why);
  void tell_failures();
  void tell_last_totals();
  void look_around();
  void forgive_own_sleep();
  void look_at_peer(transports::PeerIndex rank, std::vector<bool>& needs_link);
  void look_at_link(transports::LinkIndex link, bool is_needed);
  bool is_holding(transports::LinkIndex link) const;
  bool is_stalled(transports::LinkIndex link, double alive_at) const;
  void give_up(transports::LinkIndex link, double silent_s);
  void drop_paths(transports::LinkIndex link, const std::string& why);
  std::string over_link(transports::LinkIndex link, transports::PeerIndex from) const;

  void heard(transports::LinkIndex link, transports::PeerIndex from);

  Parts parts_;
  WakeGate gate_;
  std::vector<LinkUse> links_;
  std::vector<transports::LinkIndex> full_;  // that refused something in this step
  std::vector<std::vector<transports::PeerIndex>>
      led_to_;                                     // by a path that begins with the link, by link
  std::vector<transports::LinkIndex> first_link_;  // of each transport
  PathChoice paths_;
  transports::PeerIndex ranks_ = 0;
  std::vector<Peer> peers_;  // by rank
  std::vector<transports::PeerIndex> busy_;
  std::priority_queue<Due> due_;
  std::unordered_map<FlowId, std::shared_ptr<OutgoingFlow>, FlowIdHash> outgoing_;
  std::unordered_map<FlowId, std::shared_ptr<IncomingFlow>, FlowIdHash> incoming_;
  FramesUnderWay under_way_;
  Transit transit_;
  std::vector<Placement> placements_;
  std::map<uint64_t, Failure> failures_;
  std::deque<uint64_t> failures_in_order_;
  std::vector<LastTotal> last_totals_;
  // Incoming flows that were removed after their end: segments.
  std::map<FlowId, uint64_t> finished_;
  std::deque<FlowId> finished_in_order_;
  std::vector<Item> items_;      // of the notes that are being written
  std::vector<Flight> arrived_;  // what a note said
  std::vector<Failed> to_report_;
  std::vector<std::pair<transports::PeerIndex, Error>> lost_ranks_;  // likewise to be reported
  bool was_refused_ = false;                                         // in this step, by a link
  bool has_passing_ = false;                                         // notes of others
  double now_ = 0;
  double next_due_s_ = 0;
  double look_at_ = 0;
  double looked_at_ = 0;
  transports::PeerIndex next_peer_ = 0;

  std::mutex step_mutex_;
  std::atomic<int> waiting_{0};  // threads that want step_mutex_
  std::mutex command_mutex_;
  std::vector<Command> commands_;
  std::vector<FlowId> news_;  // of flows, under command_mutex_
  std::atomic<bool> has_commands_{false};
  std::atomic<bool> have_news_{false};      // some flows
  std::atomic<bool> have_all_news_{false};  // any flow may have
};

}  // namespace crossdock::movers
