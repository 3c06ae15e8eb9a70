// Flows come and go, and what is remembered of those that are gone.
#include <algorithm>
#include <functional>

#include "base/check.hpp"
#include "data/movers/mover_state.hpp"

namespace crossdock::movers {
namespace {

// Flows that ended and were removed are remembered for peers that missed a note: this many, the latest.
constexpr size_t kFinishedMax = 65536;

// By their names. A look at all flows, for what happens once in the life of a channel.
template <class Flows>
std::vector<typename Flows::mapped_type> flows_of(const Flows& all, uint64_t channel) {
  std::vector<typename Flows::mapped_type> flows;
  for (const auto& [id, flow] : all) {
    if (id.channel == channel) flows.push_back(flow);
  }
  std::ranges::sort(flows, std::less(), [](const auto& flow) { return flow->moved().id; });
  return flows;
}

}  // namespace

std::unique_lock<std::mutex> Mover::State::lock_between_steps() {
  waiting_.fetch_add(1);
  std::unique_lock lock(step_mutex_);
  waiting_.fetch_sub(1);
  return lock;
}

void Mover::State::command(Command command) {
  {
    const std::lock_guard lock(command_mutex_);
    commands_.push_back(std::move(command));
    has_commands_.store(true);
  }
  gate_.wake();
}

bool Mover::State::drain() {
  if (!has_commands_.load()) return false;
  std::vector<Command> commands;
  {
    const std::lock_guard lock(command_mutex_);
    commands.swap(commands_);
    has_commands_.store(false);
  }
  for (Command& command : commands) {
    if (auto* added = std::get_if<AddFlow>(&command)) add(std::move(*added));
    if (const auto* failed = std::get_if<FailChannel>(&command))
      fail(failed->channel, failed->cause, true);
  }
  return true;
}

void Mover::State::ring(const MovedFlow& flow) {
  for (const rings::Doorbell& bell : flow.doorbells) bell.ring();
}

void Mover::State::add(AddFlow add) {
  const FlowId id = add.flow.id;
  const transports::PeerIndex rank = add.flow.peer;
  CD_CHECK(
      rank != static_cast<transports::PeerIndex>(parts_.rank), "a flow to the own rank {}", rank);
  CD_CHECK(add.flow.layout->segments().bytes <= add.flow.flow.ring.shape.segment_bytes,
           "a layout of {} bytes in segments of {}",
           add.flow.layout->segments().bytes,
           add.flow.flow.ring.shape.segment_bytes);
  for (const PathIndex path : add.flow.paths) {
    CD_CHECK(path < paths_.size() && paths_.at(path).to.peer == rank,
             "path {} of {} does not lead to rank {}",
             path,
             paths_.size(),
             rank);
  }
  const auto failed = failures_.find(id.channel);
  if (failed != failures_.end()) {
    rings::fail_flow(add.flow.flow, failed->second.code);
    ring(add.flow);
    // A process that heard of it before there was a channel here could not close it.
    to_report_.emplace_back(id.channel, Error{failed->second.code, failed->second.text});
    return;
  }
  if (rank >= ranks_) {
    peers_.resize(rank + 1);
    ranks_ = rank + 1;
  }
  Peer& peer = peers_[rank];
  if (add.is_outgoing) {
    auto flow = std::make_shared<OutgoingFlow>(std::move(add.flow));
    const bool is_new = outgoing_.emplace(id, flow).second;
    CD_CHECK(is_new, "flow {}:{}:{} twice", id.channel, id.source, id.outlet);
    look_at(*flow);
    peer.outgoing.push_back(std::move(flow));
  } else {
    auto flow = std::make_shared<IncomingFlow>(std::move(add.flow), parts_.settings);
    const bool is_new = incoming_.emplace(id, flow).second;
    CD_CHECK(is_new, "flow {}:{}:{} twice", id.channel, id.source, id.outlet);
    look_at(*flow);
    peer.incoming.push_back(std::move(flow));
  }
  look_at_ = now_;
  if (paths_.has_path(rank)) {
    if (add.is_outgoing) fail_without_path(rank, "a link was lost before the channel began");
    return;
  }
  fail(id.channel,
       make_error(ErrorCode::kAgentLost,
                  "rank {} has no link to rank {}; see which devices the ranks may use",
                  parts_.rank,
                  rank),
       false);
}

std::vector<std::shared_ptr<OutgoingFlow>> Mover::State::outgoing_of(uint64_t channel) const {
  return flows_of(outgoing_, channel);
}

std::vector<std::shared_ptr<IncomingFlow>> Mover::State::incoming_of(uint64_t channel) const {
  return flows_of(incoming_, channel);
}

void Mover::State::remove(uint64_t channel) {
  const auto lock = lock_between_steps();
  now_ = parts_.now_s();
  drain();
  remove_now(channel);
  gate_.wake();
}

void Mover::State::remove_now(uint64_t channel) {
  const auto outgoing = outgoing_of(channel);
  const auto incoming = incoming_of(channel);
  const bool is_through =
      std::ranges::all_of(outgoing, [](const auto& flow) { return flow->has_arrived(); }) &&
      std::ranges::all_of(incoming, [](const auto& flow) { return flow->has_arrived(); });
  if (!is_through) {
    fail(channel,
         make_error(ErrorCode::kChannelClosed,
                    "channel {} was closed on rank {} before all rows had arrived",
                    channel,
                    parts_.rank),
         true);
    return;
  }
  for (const auto& flow : outgoing) remove_outgoing(*flow);
  for (const auto& flow : incoming) remove_incoming(*flow);
}

void Mover::State::take_out(OutgoingFlow& flow) {
  Peer& peer = peers_[flow.moved().peer];
  count_window(flow);
  std::erase(peer.sending, &flow);
  std::erase(peer.waiting, &flow);
  std::erase_if(peer.outgoing, [&](const auto& kept) { return kept.get() == &flow; });
}

void Mover::State::take_out(IncomingFlow& flow) {
  Peer& peer = peers_[flow.moved().peer];
  std::erase(peer.noting, &flow);
  std::erase_if(peer.incoming, [&](const auto& kept) { return kept.get() == &flow; });
}

void Mover::State::remove_outgoing(OutgoingFlow& flow) {
  const FlowId id = flow.moved().id;
  const transports::PeerIndex rank = flow.moved().peer;
  if (!flow.is_total_seen()) {
    const rings::FlowTotal total = rings::total_of(flow.moved().flow);
    LastTotal last;
    last.peer = rank;
    last.entry.kind = NoteKind::kTotal;
    last.entry.flow = id;
    last.entry.segments = total.segments;
    last.entry.rows = total.rows;
    last.since = last.tell_at = now_;
    last_totals_.push_back(last);
  }
  flow.close();
  take_out(flow);
  outgoing_.erase(id);
}

void Mover::State::remove_incoming(IncomingFlow& flow) {
  const FlowId id = flow.moved().id;
  const transports::PeerIndex rank = flow.moved().peer;
  finished_[id] = flow.segments();
  finished_in_order_.push_back(id);
  if (finished_in_order_.size() > kFinishedMax) {
    finished_.erase(finished_in_order_.front());
    finished_in_order_.pop_front();
  }
  answer_stray(id, rank, NoteKind::kAsk);
  flow.close();
  take_out(flow);
  incoming_.erase(id);
}

// The flows of a channel are failed, rung, and never touched again.
void Mover::State::detach(uint64_t channel, ErrorCode why) {
  for (const auto& flow : outgoing_of(channel)) {
    for (const Flight& flight : flow->unacknowledged()) forget(flight);
    flow->close();
    rings::fail_flow(flow->moved().flow, why);
    ring(flow->moved());
    take_out(*flow);
    outgoing_.erase(flow->moved().id);
  }
  for (const auto& flow : incoming_of(channel)) {
    flow->close();
    rings::fail_flow(flow->moved().flow, why);
    ring(flow->moved());
    take_out(*flow);
    incoming_.erase(flow->moved().id);
  }
}

}  // namespace crossdock::movers
