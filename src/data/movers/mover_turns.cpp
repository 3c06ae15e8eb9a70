// Which flows a step looks at: what happened to them, is due, or waits for a link. A process of a large exchange has
// thousands of flows, and a step that looked at all of them would take longer than a segment.
#include <algorithm>
#include <utility>

#include "data/movers/mover_state.hpp"

namespace crossdock::movers {
namespace {

// News of more flows than that are news of all.
constexpr size_t kNewsMax = 4096;
// A link that takes nothing tells when it has sent something; in case that it does not, it is asked again.
constexpr double kTryAgainS = 1e-4;

}  // namespace

void Mover::State::wake() {
  have_all_news_.store(true);
  gate_.wake();
}

void Mover::State::wake(std::span<const FlowId> flows) {
  {
    const std::lock_guard lock(command_mutex_);
    if (news_.size() + flows.size() <= kNewsMax) {
      news_.insert(news_.end(), flows.begin(), flows.end());
      have_news_.store(true);
    } else {
      have_all_news_.store(true);
    }
  }
  gate_.wake();
}

void Mover::State::make_busy(transports::PeerIndex rank) {
  if (peers_[rank].is_busy) return;
  peers_[rank].is_busy = true;
  busy_.push_back(rank);
}

void Mover::State::look_at(OutgoingFlow& flow) {
  if (flow.turn.is_listed || flow.is_closed()) return;
  flow.turn.is_listed = true;
  peers_[flow.moved().peer].sending.push_back(&flow);
  make_busy(flow.moved().peer);
}

void Mover::State::look_at(IncomingFlow& flow) {
  if (flow.is_listed || flow.is_closed()) return;
  flow.is_listed = true;
  peers_[flow.moved().peer].noting.push_back(&flow);
  make_busy(flow.moved().peer);
}

void Mover::State::look_at_waiting(transports::LinkIndex link) {
  for (const transports::PeerIndex rank : led_to_[link]) {
    for (OutgoingFlow* flow : peers_[rank].waiting) {
      flow->turn.is_waiting = false;
      look_at(*flow);
    }
    peers_[rank].waiting.clear();
  }
}

// Which end of it is here, its name does not say.
void Mover::State::look_at_flow(const FlowId& flow) {
  const auto outgoing = outgoing_.find(flow);
  if (outgoing != outgoing_.end()) look_at(*outgoing->second);
  const auto incoming = incoming_.find(flow);
  if (incoming != incoming_.end()) look_at(*incoming->second);
}

void Mover::State::look_at_all() {
  for (const auto& [id, flow] : outgoing_) look_at(*flow);
  for (const auto& [id, flow] : incoming_) look_at(*flow);
}

void Mover::State::take_news() {
  if (have_all_news_.exchange(false)) look_at_all();
  if (!have_news_.load()) return;
  std::vector<FlowId> news;
  {
    const std::lock_guard lock(command_mutex_);
    news.swap(news_);
    have_news_.store(false);
  }
  for (const FlowId& flow : news) look_at_flow(flow);
}

// An entry counts if the flow was not place to be due sooner, or looked at, since.
void Mover::State::take_due() {
  while (!due_.empty() && due_.top().at_s <= now_) {
    const Due due = due_.top();
    due_.pop();
    const auto place = outgoing_.find(due.flow);
    if (place == outgoing_.end() || place->second->turn.due_s != due.at_s) continue;
    place->second->turn.due_s = kNeverDue;
    look_at(*place->second);
  }
}

void Mover::State::overtaken(Peer& peer, double sent_at) {
  if (sent_at <= peer.overtaken_at) return;
  peer.overtaken_at = sent_at;
  if (sent_at <= peer.overtaken_seen_at + kOvertakenEveryS) return;
  peer.overtaken_seen_at = sent_at;
  for (const auto& flow : peer.outgoing) look_at(*flow);
}

// Peers in the order of their ranks, from the one whose turn it is.
void Mover::State::put_in_turn() {
  std::ranges::sort(busy_);
  std::ranges::rotate(busy_, std::ranges::lower_bound(busy_, next_peer_));
  for (const transports::PeerIndex rank : busy_) {
    peers_[rank].window_bytes = peers_[rank].counted_bytes;
  }
}

void Mover::State::count_window(OutgoingFlow& flow) {
  const uint64_t bytes = flow.is_closed() ? 0 : flow.window_bytes();
  peers_[flow.moved().peer].counted_bytes += bytes - flow.turn.counted_bytes;
  flow.turn.counted_bytes = bytes;
}

bool Mover::State::rests(OutgoingFlow& flow) {
  count_window(flow);
  const double due_s = flow.next_due_s();
  const bool has_no_room = std::exchange(flow.turn.has_no_room, false);
  if (has_no_room && !flow.goes_again() && due_s > now_ && flow.fresh() != nullptr) {
    if (!flow.turn.is_waiting) peers_[flow.moved().peer].waiting.push_back(&flow);
    flow.turn.is_waiting = true;
    ++flow.counters.stalled_link_full;
    ++paths_.link_of(paths_.of(frame_of(flow)).front()).counters.stalled_link_full;
  } else if (flow.has_work(now_)) {
    return false;
  }
  flow.turn.is_listed = false;
  if (due_s < flow.turn.due_s) {
    flow.turn.due_s = due_s;
    due_.push({.at_s = due_s, .flow = flow.moved().id});
  }
  return true;
}

bool Mover::State::rests(IncomingFlow& flow) {
  if (flow.owes(now_) != IncomingFlow::Owes::kNothing) return false;
  flow.is_listed = false;
  return true;
}

// At the end of a step.
void Mover::State::rest() {
  for (const transports::PeerIndex rank : busy_) {
    Peer& peer = peers_[rank];
    std::erase_if(peer.sending, [this](OutgoingFlow* flow) { return rests(*flow); });
    std::erase_if(peer.noting, [this](IncomingFlow* flow) { return rests(*flow); });
    peer.is_busy = !peer.sending.empty() || !peer.noting.empty() || !peer.answers.empty();
  }
  std::erase_if(busy_, [this](transports::PeerIndex rank) { return !peers_[rank].is_busy; });
}

void Mover::State::find_next_due() {
  if (was_refused_) {
    next_due_s_ = now_ + kTryAgainS;
    return;
  }
  next_due_s_ = due_.empty() ? look_at_ : std::min(look_at_, due_.top().at_s);
  for (const transports::PeerIndex rank : busy_) {
    for (const OutgoingFlow* flow : peers_[rank].sending) {
      next_due_s_ = std::min(next_due_s_, flow->next_due_s());
    }
    for (const IncomingFlow* flow : peers_[rank].noting) {
      next_due_s_ = std::min(next_due_s_, flow->next_due_s());
    }
  }
  for (const LastTotal& last : last_totals_) next_due_s_ = std::min(next_due_s_, last.tell_at);
  for (const auto& [channel, failure] : failures_) {
    if (!failure.unaware.empty()) next_due_s_ = std::min(next_due_s_, failure.tell_at);
  }
}

}  // namespace crossdock::movers
