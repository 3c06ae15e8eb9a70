// What the senders, receivers and leases of a channel share in one process: the flows' ends, the doorbells, the memory
// under them, and why the channel is over if it is.
//
// Owned by the channel, its senders and receivers and every batch that is still held, so memory goes when the last of
// them does. Ends of a process are fixed when it is made; only the near ends of flows to neighbours are filled in
// later, before is_attached(). Cost: 200 bytes per flow beside its segments.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/home_process.hpp"
#include "base/result.hpp"
#include "data/channels/channel_layout.hpp"
#include "data/channels/flow_taker.hpp"
#include "data/movers/flow_id.hpp"
#include "data/rings/doorbell.hpp"
#include "data/rings/flow.hpp"

namespace crossdock::channels {

// One flow, as the source sees it.
struct OutFlow {
  uint16_t outlet = 0;
  bool is_moved = false;  // its other end is on another host: the mover gets word, not a doorbell
  rings::Flow flow;
  rings::Doorbell outlet_bell{nullptr};
  std::atomic<uint64_t> rows{0};     // of the senders that are through
  std::atomic<uint64_t> stalled{0};  // turns after which rows still waited for room
};

struct SourceEnd {
  int source = 0;
  rings::Doorbell bell{nullptr};
  std::vector<std::unique_ptr<OutFlow>> flows;  // by outlet, ascending
  std::atomic<int> senders_opened{0};
  std::atomic<int> senders_through{0};
  std::atomic<uint64_t> refused{0};

  // Null if the source does not reach it.
  OutFlow* flow_to(uint16_t outlet) const;
};

// One flow, as one destination sees it.
struct TakenSoFar {
  std::atomic<uint64_t> rows{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> segments{0};  // whose rows are counted
};

struct InFlow {
  InFlow(int source_number, uint16_t outlet_number, const rings::Flow& placed, int cursors)
      : source(source_number),
        outlet(outlet_number),
        flow(placed),
        taker(placed.ring, cursors),
        taken(cursors) {}

  int source;
  uint16_t outlet;
  bool is_moved = false;
  rings::Flow flow;
  FlowTaker taker;                // a cursor per destination of the outlet
  std::vector<TakenSoFar> taken;  // per cursor
  rings::Doorbell source_bell{nullptr};
};

struct OutletEnd {
  uint16_t outlet = 0;
  rings::Doorbell bell{nullptr};
  std::vector<std::unique_ptr<InFlow>> flows;
  std::vector<std::atomic<int>> receivers;  // open ones, per cursor

  // Null if the source does not reach it.
  InFlow* flow_from(uint16_t source) const;
};

// Where the part of a rank lies.
struct PartMemory {
  std::span<std::byte> bytes;  // aligned to 128
  std::shared_ptr<const void> keep;
  bool is_fresh = true;  // cleared; if not, the words of flows are
};

class ChannelCore : public std::enable_shared_from_this<ChannelCore> {
 public:
  // `memory` has the bytes of the rank's part. Near ends of flows to ranks of this host are attached later.
  static Result<std::shared_ptr<ChannelCore>> make(std::shared_ptr<const ChannelLayout> plan,
                                                   int rank,
                                                   PartMemory memory);

  const ChannelLayout& plan() const { return *plan_; }
  const PartPlan& part() const { return part_; }
  int rank() const { return part_.rank; }

  // Null if the endpoint is not of this rank.
  SourceEnd* source(int source) const;
  OutletEnd* outlet_end(uint16_t outlet) const;
  OutletEnd* outlet_of(int destination) const;
  // Which of the outlet's cursors a destination has.
  int cursor_of(int destination) const;

  // The part of a neighbour is there: flows into its outlets, and the doorbells of its sources. By one thread.
  Status attach(int peer, PartMemory memory);
  // All neighbours' parts that this rank's ends need are there.
  bool is_attached() const { return is_attached_.load(std::memory_order_acquire); }
  std::vector<int> missing_neighbours() const;
  // Ranks that have an end of a flow that this rank has the other end of, itself left out.
  const std::vector<int>& peers() const { return peers_; }

  // Called for the mover of flows to other hosts, with those that have news. Set before the core is used by others.
  using WakeMover = std::function<void(std::span<const movers::FlowId> flows)>;
  void set_wake_mover(WakeMover wake) { wake_mover_ = std::move(wake); }
  void wake_mover(std::span<const movers::FlowId> flows) const {
    if (!flows.empty() && wake_mover_) wake_mover_(flows);
  }
  movers::FlowId moved_id(int source, uint16_t outlet) const {
    return {.channel = plan_->spec().id, .source = static_cast<uint16_t>(source), .outlet = outlet};
  }

  // Asked for what a mover counts of the channel's flows. Set before the core is used by others.
  void set_moved_counters(std::function<std::vector<movers::MovedFlowCounters>()> ask) {
    moved_counters_ = std::move(ask);
  }

  // In a copy of the process that fork() made: every end is over there, and dropping one changes nothing that the
  // process shares with it.
  bool is_copy() const { return !home_.is_here(); }

  // The first cause stays. The object that tells the other processes is called once (set before the core is used by
  // others), unless the cause came from one of them. Nothing in a copy.
  void close(const Error& cause, bool is_news = true);
  void set_on_close(std::function<void(const Error&)> call) { on_close_ = std::move(call); }
  // The channel is dropped here: the mover of its flows lets go of them.
  void retire() const {
    if (on_retire_ && !is_copy()) on_retire_();
  }
  void set_on_retire(std::function<void()> call) { on_retire_ = std::move(call); }
  bool is_over() const { return is_over_.load(std::memory_order_acquire) || is_copy(); }
  // The cause, if the channel is over.
  Status check() const;

  // A block of a source is through, with rows[i] rows put into flow i: the last one ends the flows.
  void end_block(SourceEnd& end, std::span<const uint64_t> rows);

  // This process is needed no more: its sources have ended, their rows are where they should be, and its destinations
  // have taken and given back all that is theirs. It may go, and the others will not miss it.
  bool is_through() const;
  // What passes between this rank and `peer` has passed, and the peer may go.
  bool is_through_with(int peer) const;

  ChannelCounters counters() const;

 private:
  ChannelCore() = default;
  void find_peers();
  Status place_ends(std::span<std::byte> memory);
  void ring_own_bells() const;
  bool has_passed(const rings::Flow& flow) const;
  static void count(const OutFlow& out, FlowCounters& into);
  static void count(const InFlow& in, FlowCounters& into);

  const HomeProcess home_;
  std::shared_ptr<const ChannelLayout> plan_;
  PartPlan part_;
  std::vector<std::unique_ptr<SourceEnd>> sources_;  // as in part_
  std::vector<std::unique_ptr<OutletEnd>> outlets_;
  std::vector<int> peers_;
  std::vector<int> missing_;  // neighbours whose part is not there yet
  std::vector<std::shared_ptr<const void>> keep_;
  WakeMover wake_mover_;
  std::function<void(const Error&)> on_close_;
  std::function<void()> on_retire_;
  std::function<std::vector<movers::MovedFlowCounters>()> moved_counters_;
  std::atomic<bool> is_attached_{false};
  std::atomic<bool> is_over_{false};
  mutable std::mutex mutex_;  // guards missing_, is_closing_ and cause_
  bool is_closing_ = false;   // a thread has begun to close it
  Error cause_;
};

}  // namespace crossdock::channels
