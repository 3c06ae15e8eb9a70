// Places the ends of a process, attaches those of its neighbours, ends and closes flows.
#include "data/channels/channel_core.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "data/rings/ring_state.hpp"

namespace crossdock::channels {
namespace {

rings::Doorbell bell_at(std::span<std::byte> memory, uint64_t offset) {
  return rings::Doorbell(reinterpret_cast<rings::DoorbellWords*>(memory.data() + offset));
}

Result<rings::Flow> flow_at(const rings::RingShape& shape,
                            std::span<std::byte> memory,
                            uint64_t offset) {
  return rings::place_flow(shape, memory.subspan(offset, rings::flow_bytes(shape)));
}

Result<rings::Flow> flow_at(const ChannelLayout& plan,
                            std::span<std::byte> memory,
                            const PlacedFlow& placed) {
  return flow_at(plan.ring(placed.is_far), memory, placed.offset);
}

// Rows stay as they are: the sender that opens a segment clears its bitmaps, and fills what is read of it. Of its
// header, producers write what changes.
void clear_words(const rings::Flow& flow) {
  *flow.words = {};
  *flow.ring.tail = *flow.ring.head = *flow.ring.lock = 0;
  for (uint64_t slot = 0; slot < flow.ring.slots(); ++slot) {
    flow.ring.word(slot) = flow.ring.ready_word(slot) = 0;
    flow.ring.header(slot) = {};
  }
}

template <class End, class Number>
End* find_end(const std::vector<uint16_t>& numbers,
              const std::vector<std::unique_ptr<End>>& ends,
              Number number) {
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), number);
  if (at == numbers.end() || *at != number) return nullptr;
  return ends[static_cast<size_t>(at - numbers.begin())].get();
}

}  // namespace

Result<std::shared_ptr<ChannelCore>> ChannelCore::make(std::shared_ptr<const ChannelLayout> plan,
                                                       int rank,
                                                       PartMemory memory) {
  auto core = std::shared_ptr<ChannelCore>(new ChannelCore);
  core->plan_ = std::move(plan);
  core->part_ = core->plan_->part_of(rank);
  core->find_peers();
  if (!memory.is_fresh) {
    const PartPlan& part = core->part_;
    std::memset(memory.bytes.data(), 0, part.outlet_bell(part.outlets.size()));
    for (const auto* flows : {&part.incoming, &part.outgoing}) {
      for (const PlacedFlow& placed : *flows) {
        CD_ASSIGN(const rings::Flow flow, flow_at(*core->plan_, memory.bytes, placed));
        clear_words(flow);
      }
    }
  }
  CD_TRY(core->place_ends(memory.bytes));
  CD_TRY(core->attach(rank, std::move(memory)));
  return core;
}

void ChannelCore::find_peers() {
  std::vector<bool> is_peer(static_cast<size_t>(plan_->ranks()));
  for (const PlacedFlow& flow : part_.incoming) {
    is_peer[static_cast<size_t>(plan_->spec().source_ranks[flow.source])] = true;
  }
  for (const uint16_t source : part_.sources) {
    for (const uint16_t outlet : plan_->outlets_from(source)) {
      is_peer[static_cast<size_t>(plan_->outlets()[outlet].rank)] = true;
    }
  }
  for (int peer = 0; peer < plan_->ranks(); ++peer) {
    if (!is_peer[static_cast<size_t>(peer)] && peer != rank()) continue;
    if (peer != rank()) peers_.push_back(peer);
    if (plan_->host_of(peer) == plan_->host_of(rank())) missing_.push_back(peer);
  }
}

Status ChannelCore::place_ends(std::span<std::byte> memory) {
  for (size_t at = 0; at < part_.outlets.size(); ++at) {
    auto end = std::make_unique<OutletEnd>();
    end->outlet = part_.outlets[at];
    end->bell = bell_at(memory, part_.outlet_bell(at));
    end->receivers =
        std::vector<std::atomic<int>>(plan_->outlets()[end->outlet].destinations.size());
    outlets_.push_back(std::move(end));
  }
  for (const PlacedFlow& placed : part_.incoming) {
    OutletEnd& end = *find_end(part_.outlets, outlets_, placed.outlet);
    CD_ASSIGN(const rings::Flow flow, flow_at(*plan_, memory, placed));
    auto in = std::make_unique<InFlow>(
        placed.source, placed.outlet, flow, static_cast<int>(end.receivers.size()));
    in->is_moved = placed.is_far;
    end.flows.push_back(std::move(in));
  }
  for (size_t at = 0; at < part_.sources.size(); ++at) {
    auto end = std::make_unique<SourceEnd>();
    end->source = part_.sources[at];
    end->bell = bell_at(memory, part_.source_bell(at));
    for (const uint16_t outlet : plan_->outlets_from(end->source)) {
      auto out = std::make_unique<OutFlow>();
      out->outlet = outlet;
      out->is_moved = plan_->host_of(plan_->outlets()[outlet].rank) != plan_->host_of(rank());
      end->flows.push_back(std::move(out));
    }
    sources_.push_back(std::move(end));
  }
  for (const PlacedFlow& placed : part_.outgoing) {
    SourceEnd& end = *find_end(part_.sources, sources_, placed.source);
    CD_ASSIGN(end.flow_to(placed.outlet)->flow, flow_at(*plan_, memory, placed));
  }
  return {};
}

OutFlow* SourceEnd::flow_to(uint16_t outlet) const {
  const auto at =
      std::lower_bound(flows.begin(), flows.end(), outlet, [](const auto& flow, uint16_t number) {
        return flow->outlet < number;
      });
  return at == flows.end() || (*at)->outlet != outlet ? nullptr : at->get();
}

InFlow* OutletEnd::flow_from(uint16_t source) const {
  const auto at =
      std::lower_bound(flows.begin(), flows.end(), source, [](const auto& flow, uint16_t number) {
        return flow->source < number;
      });
  return at == flows.end() || (*at)->source != source ? nullptr : at->get();
}

SourceEnd* ChannelCore::source(int source) const {
  return find_end(part_.sources, sources_, source);
}

OutletEnd* ChannelCore::outlet_end(uint16_t outlet) const {
  return find_end(part_.outlets, outlets_, outlet);
}

OutletEnd* ChannelCore::outlet_of(int destination) const {
  return outlet_end(plan_->outlet_of(destination));
}

int ChannelCore::cursor_of(int destination) const {
  const auto& shared = plan_->outlets()[plan_->outlet_of(destination)].destinations;
  return static_cast<int>(std::lower_bound(shared.begin(), shared.end(), destination) -
                          shared.begin());
}

Status ChannelCore::attach(int peer, PartMemory memory) {
  const PartPlan part = plan_->part_of(peer);
  const std::span<std::byte> bytes = memory.bytes;
  if (bytes.size() < part.bytes) {
    return make_error(ErrorCode::kMalformedMessage,
                      "channel {}: rank {} passed {} bytes as its part, which has {}",
                      plan_->spec().id,
                      peer,
                      bytes.size(),
                      part.bytes);
  }
  for (const auto& source : sources_) {
    for (const auto& out : source->flows) {
      if (plan_->outlets()[out->outlet].rank != peer) continue;
      const auto number = static_cast<uint16_t>(source->source);
      const uint64_t offset = part.incoming_offset(number, out->outlet);
      CD_ASSIGN(out->flow, flow_at(plan_->ring(out->is_moved), bytes, offset));
      const auto place = std::lower_bound(part.outlets.begin(), part.outlets.end(), out->outlet);
      out->outlet_bell =
          bell_at(bytes, part.outlet_bell(static_cast<size_t>(place - part.outlets.begin())));
    }
  }
  for (const auto& outlet : outlets_) {
    for (const auto& in : outlet->flows) {
      if (plan_->spec().source_ranks[static_cast<size_t>(in->source)] != peer) continue;
      const auto place = std::lower_bound(part.sources.begin(), part.sources.end(), in->source);
      in->source_bell =
          bell_at(bytes, part.source_bell(static_cast<size_t>(place - part.sources.begin())));
    }
  }
  {
    const std::lock_guard lock(mutex_);
    keep_.push_back(std::move(memory.keep));
    std::erase(missing_, peer);
    if (missing_.empty()) is_attached_.store(true, std::memory_order_release);
  }
  if (is_attached()) ring_own_bells();
  return {};
}

std::vector<int> ChannelCore::missing_neighbours() const {
  const std::lock_guard lock(mutex_);
  return missing_;
}

void ChannelCore::close(const Error& cause, bool is_news) {
  if (is_copy()) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_closing_) return;
    is_closing_ = true;
    cause_ = cause;
  }
  // Others hear of it first: who sees it here may end its process at once, and would pass for the cause.
  if (is_news && on_close_) on_close_(cause);
  is_over_.store(true, std::memory_order_release);
  ring_own_bells();
}

// Senders and receivers of this process sleep on its own doorbells only.
void ChannelCore::ring_own_bells() const {
  for (const auto& source : sources_) source->bell.ring();
  for (const auto& outlet : outlets_) outlet->bell.ring();
}

Status ChannelCore::check() const {
  if (!is_over()) return {};
  // Before the lock, which a thread of the other process may have held.
  if (is_copy()) return home_.check(fmt::format("channel {}", plan_->spec().id));
  const std::lock_guard lock(mutex_);
  return cause_;
}

void ChannelCore::end_block(SourceEnd& end, std::span<const uint64_t> rows) {
  for (size_t at = 0; at < end.flows.size(); ++at) {
    end.flows[at]->rows.fetch_add(rows[at], std::memory_order_relaxed);
  }
  const int through = end.senders_through.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (through != plan_->spec().senders_per_source) return;
  std::vector<movers::FlowId> moved;
  for (const auto& out : end.flows) {
    rings::end_flow(out->flow, out->rows.load(std::memory_order_relaxed));
    if (out->is_moved) {
      moved.push_back(moved_id(end.source, out->outlet));
    } else {
      out->outlet_bell.ring();
    }
  }
  wake_mover(moved);
}

// Everything was put in, taken and given back.
bool ChannelCore::has_passed(const rings::Flow& flow) const {
  const rings::FlowTotal total = rings::total_of(flow);
  if (!total.is_known) return false;
  return rings::StdAtomic<uint64_t, rings::Scope::kSystem>(*flow.ring.head)
             .load(rings::Acquire{}) == total.segments;
}

bool ChannelCore::is_through() const {
  if (!is_attached()) return false;
  for (const auto& source : sources_) {
    for (const auto& out : source->flows) {
      if (!rings::total_of(out->flow).is_known) return false;
      if (out->is_moved && !has_passed(out->flow)) return false;
    }
  }
  for (const auto& outlet : outlets_) {
    for (const auto& in : outlet->flows) {
      // Taken is enough: batches may be held for longer than the channel.
      const rings::FlowTotal total = rings::total_of(in->flow);
      const auto is_taken = [&total](const TakenSoFar& taken) {
        return taken.segments.load(std::memory_order_acquire) == total.segments;
      };
      if (!total.is_known || !std::ranges::all_of(in->taken, is_taken)) return false;
    }
  }
  return true;
}

bool ChannelCore::is_through_with(int peer) const {
  if (!is_attached()) return std::find(peers_.begin(), peers_.end(), peer) == peers_.end();
  for (const auto& source : sources_) {
    for (const auto& out : source->flows) {
      if (plan_->outlets()[out->outlet].rank == peer && !has_passed(out->flow)) return false;
    }
  }
  for (const auto& outlet : outlets_) {
    for (const auto& in : outlet->flows) {
      if (plan_->spec().source_ranks[static_cast<size_t>(in->source)] != peer) continue;
      if (!rings::total_of(in->flow).is_known) return false;
    }
  }
  return true;
}

void ChannelCore::count(const OutFlow& out, FlowCounters& into) {
  using Word = rings::StdAtomic<uint64_t, rings::Scope::kSystem>;
  const rings::RingProgress progress = rings::ring_progress(out.flow.ring);
  into.begins_here = true;
  if (const uint16_t failed = rings::failure_of(out.flow); failed != 0) into.failed = failed;
  into.slots = out.flow.ring.slots();
  into.opened = Word(*out.flow.ring.tail).load(rings::Relaxed{});
  into.published = progress.published;
  into.recycled = progress.recycled;
  into.rows_sent = out.rows.load(std::memory_order_relaxed);
  into.stalled_ring_full = out.stalled.load(std::memory_order_relaxed);
}

void ChannelCore::count(const InFlow& in, FlowCounters& into) {
  const rings::RingProgress progress = rings::ring_progress(in.flow.ring);
  into.ends_here = true;
  if (const uint16_t failed = rings::failure_of(in.flow); failed != 0) into.failed = failed;
  into.slots = in.flow.ring.slots();
  into.published = progress.published;
  into.recycled = progress.recycled;
  uint64_t slowest = progress.published;
  for (const TakenSoFar& taken : in.taken) {
    const uint64_t segments = taken.segments.load(std::memory_order_acquire);
    slowest = std::min(slowest, segments);
    into.taken += segments;
    into.rows_taken += taken.rows.load(std::memory_order_relaxed);
    into.bytes_taken += taken.bytes.load(std::memory_order_relaxed);
  }
  into.waiting = progress.published - slowest;
}

ChannelCounters ChannelCore::counters() const {
  std::map<std::pair<int, int>, FlowCounters> rows;
  const auto row_of = [&rows](int source, int outlet) -> FlowCounters& {
    FlowCounters& row = rows[{source, outlet}];
    row.source = source;
    row.outlet = outlet;
    return row;
  };
  ChannelCounters counters;
  if (!is_attached()) return counters;  // no row has moved
  for (const auto& source : sources_) {
    counters.refused += source->refused.load(std::memory_order_relaxed);
    for (const auto& out : source->flows) count(*out, row_of(source->source, out->outlet));
  }
  for (const auto& outlet : outlets_) {
    for (const auto& in : outlet->flows) count(*in, row_of(in->source, outlet->outlet));
  }
  if (moved_counters_) {
    for (const movers::MovedFlowCounters& moved : moved_counters_()) {
      FlowCounters& row = row_of(moved.id.source, moved.id.outlet);
      row.resent = moved.resent;
      row.stalled_no_credit = moved.stalled_no_credit;
      row.stalled_link_full = moved.stalled_link_full;
    }
  }
  for (const auto& [flow, row] : rows) counters.flows.push_back(row);
  return counters;
}

}  // namespace crossdock::channels
