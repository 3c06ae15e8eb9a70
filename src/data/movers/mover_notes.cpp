// Notes: collected for a peer, several entries at a time, and taken apart.
#include <algorithm>

#include "data/movers/mover_state.hpp"

namespace crossdock::movers {
namespace {

// What a peer asks more than that before it is answered, it will ask again.
constexpr size_t kAnswersMax = 4096;
constexpr size_t kPassingMax = 64;

}  // namespace

bool Mover::State::send_notes(bool is_idle) {
  bool has_sent = false;
  for (const transports::PeerIndex rank : busy_) {
    Peer& peer = peers_[rank];
    if (collect(peer, is_idle)) has_sent |= tell(rank, peer);
  }
  return has_sent;
}

// What could be noted is collected; true if some of it should be now.
bool Mover::State::collect(Peer& peer, bool is_idle) {
  items_.clear();
  bool is_urgent = !peer.answers.empty();
  bool is_repeated = std::exchange(peer.is_repeating, false);
  for (IncomingFlow* flow : peer.noting) {
    const IncomingFlow::Owes owes = flow->owes(now_);
    if (owes == IncomingFlow::Owes::kNothing) continue;
    is_urgent |=
        owes == IncomingFlow::Owes::kNow || (is_idle && owes == IncomingFlow::Owes::kWhenIdle);
    is_repeated |= flow->is_asked();
    items_.push_back({.entry = flow->credit(), .incoming = flow, .outgoing = nullptr});
  }
  for (OutgoingFlow* flow : peer.sending) {
    const std::optional<NoteEntry> entry = flow->to_tell(now_);
    if (!entry) continue;
    is_urgent = true;
    is_repeated |= flow->has_noted(entry->kind);
    items_.push_back({.entry = *entry, .incoming = nullptr, .outgoing = flow});
  }
  peer.skips_paths = is_repeated ? peer.note_turn++ : 0;
  return is_urgent;
}

bool Mover::State::tell(transports::PeerIndex to, Peer& peer) {
  size_t next = 0;
  bool has_sent = false;
  while (next < items_.size() || !peer.answers.empty()) {
    const PathIndex path = paths_.choose_for_note(to, peer.skips_paths);
    if (path == kNoPath) {
      peer.answers.clear();
      return has_sent;
    }
    NoteWriter writer(static_cast<uint16_t>(parts_.rank), static_cast<uint16_t>(to));
    size_t answers = 0;
    for (bool has_room = true; has_room && answers < peer.answers.size();) {
      NoteEntry entry = peer.answers[answers].entry;
      entry.text = peer.answers[answers].text;
      has_room = writer.add(entry);
      if (has_room) ++answers;
    }
    size_t end = next;
    while (answers == peer.answers.size() && end < items_.size() && writer.add(items_[end].entry)) {
      ++end;
    }
    if (!tell_bytes(paths_.at(path).to.first, writer.finish())) return has_sent;
    peer.answers.erase(peer.answers.begin(),
                       peer.answers.begin() + static_cast<ptrdiff_t>(answers));
    for (; next < end; ++next) {
      const Item& item = items_[next];
      if (item.incoming != nullptr) item.incoming->noted(item.entry);
      if (item.outgoing != nullptr) item.outgoing->noted(item.entry.kind, now_);
    }
    has_sent = true;
  }
  peer.answers.shrink_to_fit();  // many at once when channels begin, of each peer
  return has_sent;
}

bool Mover::State::tell_bytes(transports::LinkIndex link, std::span<const std::byte> note) {
  LinkUse& use = links_[link];
  if (use.is_lost) return false;
  if (!use.link->tell(note)) {
    was_refused_ = true;
    return false;
  }
  ++use.counters.notes_sent;
  return true;
}

bool Mover::State::tell_on(transports::LinkIndex link,
                           transports::PeerIndex to,
                           const NoteEntry& entry) {
  NoteWriter writer(static_cast<uint16_t>(parts_.rank), static_cast<uint16_t>(to));
  writer.add(entry);
  return tell_bytes(link, writer.finish());
}

// Notes of others wait in a short queue where a link is busy; what is dropped is said again by its sender.
void Mover::State::pass_note(transports::LinkIndex link,
                             const NoteHead& head,
                             std::span<const std::byte> note) {
  Peer* peer = head.to_rank < ranks_ ? &peers_[head.to_rank] : nullptr;
  if (peer == nullptr || head.hop != 0 || !paths_.has_straight_path(head.to_rank) ||
      peer->passing.size() >= kPassingMax) {
    ++links_[link].counters.dropped;
    return;
  }
  std::vector<std::byte> copy(note.size());
  copy_note_for_next_hop(note, copy);
  peer->passing.push_back(std::move(copy));
  has_passing_ = true;
}

bool Mover::State::pass_notes() {
  if (!has_passing_) return false;
  has_passing_ = false;
  bool has_passed = false;
  for (transports::PeerIndex rank = 0; rank < ranks_; ++rank) {
    Peer& peer = peers_[rank];
    while (!peer.passing.empty()) {
      const PathIndex path = paths_.choose_for_note(rank, 0, true);
      if (path == kNoPath) {
        peer.passing.clear();
        break;
      }
      const transports::LinkIndex link = paths_.at(path).to.first;
      if (!tell_bytes(link, peer.passing.front())) break;
      links_[link].passed_at = now_;
      if (look_at_ == kNeverDue) look_at_ = now_;
      ++links_[link].counters.notes_relayed;
      peer.passing.erase(peer.passing.begin());
      has_passed = true;
    }
    has_passing_ |= !peer.passing.empty();
  }
  return has_passed;
}

void Mover::State::answer(transports::PeerIndex to, const NoteEntry& entry, std::string text) {
  std::vector<Answer>& answers = peers_[to].answers;
  const auto is_same = [&](const Answer& other) { return other.entry == entry; };
  if (std::ranges::any_of(answers, is_same) || answers.size() >= kAnswersMax) return;
  answers.push_back({.entry = entry, .text = std::move(text)});
  make_busy(to);
}

// A peer speaks of a flow that is not here: it has ended, or failed, or never was.
void Mover::State::answer_stray(const FlowId& flow, transports::PeerIndex from, NoteKind kind) {
  NoteEntry entry;
  entry.flow = flow;
  const auto finished = finished_.find(flow);
  const auto failed = failures_.find(flow.channel);
  if (finished != finished_.end()) {
    entry.kind = kind == NoteKind::kTotal ? NoteKind::kTotalSeen : NoteKind::kCredit;
    if (entry.kind == NoteKind::kCredit) entry.arrived = entry.head = finished->second;
    answer(from, entry);
    return;
  }
  if (failed != failures_.end()) {
    entry.kind = NoteKind::kFailed;
    entry.flow = {.channel = flow.channel};
    entry.code = static_cast<uint16_t>(failed->second.code);
    answer(from, entry, failed->second.text);
    return;
  }
  entry.kind = NoteKind::kUnknown;
  answer(from, entry);
}

void Mover::State::noted(transports::LinkIndex link, std::span<const std::byte> note) {
  LinkCounters& counters = links_[link].counters;
  ++counters.notes_received;
  Result<NoteReader> read = NoteReader::read(note);
  if (!read.ok() || read.value().head().from_rank >= ranks_ ||
      read.value().head().from_rank == parts_.rank) {
    ++counters.malformed;
    return;
  }
  NoteReader& reader = read.value();
  const NoteHead head = reader.head();
  heard(link, head.from_rank);
  if (head.to_rank != parts_.rank) {
    pass_note(link, head, note);
    return;
  }
  NoteEntry entry;
  while (reader.next(entry)) take(link, head.from_rank, entry);
}

void Mover::State::take(transports::LinkIndex link,
                        transports::PeerIndex from,
                        const NoteEntry& entry) {
  switch (entry.kind) {
    case NoteKind::kCredit:
      return take_credit(link, from, entry);
    case NoteKind::kTotal:
    case NoteKind::kAsk:
      return take_total(link, from, entry);
    case NoteKind::kTotalSeen:
      return take_total_seen(from, entry);
    case NoteKind::kUnknown:
      return take_unknown(from, entry);
    case NoteKind::kFailed:
      return take_failed(from, entry);
    case NoteKind::kFailedSeen: {
      const auto failure = failures_.find(entry.flow.channel);
      if (failure != failures_.end()) failure->second.unaware.erase(from);
      return;
    }
    case NoteKind::kKeepalive: {
      NoteEntry seen;
      seen.kind = NoteKind::kKeepaliveSeen;
      if (!tell_on(link, from, seen)) answer(from, seen);
      return;
    }
    case NoteKind::kKeepaliveSeen: {
      const PathIndex path = paths_.find(from, link);
      if (path != kNoPath) paths_.answered(path, now_);
      return;
    }
  }
}

void Mover::State::take_credit(transports::LinkIndex link,
                               transports::PeerIndex from,
                               const NoteEntry& entry) {
  const auto outgoing = outgoing_.find(entry.flow);
  if (outgoing == outgoing_.end() || outgoing->second->moved().peer != from) return;
  const std::shared_ptr<OutgoingFlow> flow = outgoing->second;
  arrived_.clear();
  look_at(*flow);
  const Status taken = flow->acknowledge(entry, now_, arrived_);
  count_window(*flow);
  for (const Flight& flight : arrived_) {
    forget(flight);
    if (flight.sends == 1) paths_.delivered(flight.path, flight.bytes, now_);
  }
  // Of one that was sent more than once it is not known which has arrived: it says nothing about time, nor about order.
  for (const Flight& flight : arrived_) {
    if (flight.sends != 1) continue;
    paths_.link_of(flight.path).delivered_at = now_;
    overtaken(peers_[from], flight.sent_at);
    paths_.measured(flight.path, flight.then, flight.sent_at, now_);
  }
  if (flow->take_recycled()) ring(flow->moved());
  if (taken.ok()) return;
  ++links_[link].counters.malformed;
  fail(entry.flow.channel,
       Error{taken.error().code, taken.error().message + over_link(link, from)},
       false);
}

// A total, or a question about credit; both are answered with how things stand.
void Mover::State::take_total(transports::LinkIndex link,
                              transports::PeerIndex from,
                              const NoteEntry& entry) {
  auto incoming = incoming_.find(entry.flow);
  if (incoming == incoming_.end() && drain()) incoming = incoming_.find(entry.flow);
  if (incoming == incoming_.end()) {
    answer_stray(entry.flow, from, entry.kind);
    return;
  }
  const std::shared_ptr<IncomingFlow> flow = incoming->second;
  if (flow->moved().peer != from) return;
  look_at(*flow);
  flow->answer();
  if (entry.kind == NoteKind::kAsk) return;
  const Status ended = flow->end(entry.segments, entry.rows);
  if (!ended.ok()) {
    ++links_[link].counters.malformed;
    fail(entry.flow.channel,
         Error{ended.error().code, ended.error().message + over_link(link, from)},
         false);
    return;
  }
  ring(flow->moved());
  NoteEntry seen;
  seen.kind = NoteKind::kTotalSeen;
  seen.flow = entry.flow;
  answer(from, seen);
}

void Mover::State::take_total_seen(transports::PeerIndex from, const NoteEntry& entry) {
  const auto outgoing = outgoing_.find(entry.flow);
  if (outgoing != outgoing_.end() && outgoing->second->moved().peer == from)
    outgoing->second->total_seen();
  std::erase_if(last_totals_, [&](const LastTotal& last) {
    return last.peer == from && last.entry.flow == entry.flow;
  });
}

// It may still be about to add the flow. If it goes on saying so, it has removed it, too long ago to remember how.
void Mover::State::take_unknown(transports::PeerIndex from, const NoteEntry& entry) {
  const auto outgoing = outgoing_.find(entry.flow);
  if (outgoing == outgoing_.end() || outgoing->second->moved().peer != from) return;
  const double since = outgoing->second->unknown_since(now_);
  if (now_ - since < parts_.settings.lost_after_s) return;
  fail(entry.flow.channel,
       make_error(ErrorCode::kChannelClosed,
                  "rank {} has not known channel {} for {:.1f} s, to which rank {} sends",
                  from,
                  entry.flow.channel,
                  now_ - since,
                  parts_.rank),
       false);
}

}  // namespace crossdock::movers
