// What is over: lost links, processes that say nothing, and channels that cannot go on.
#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "data/movers/mover_state.hpp"

namespace crossdock::movers {
namespace {

constexpr size_t kFailuresMax = 1024;
constexpr int kRetryDoublingsMax = 6;
// A link whose frames take long, for there are many of them, is not stalled.
constexpr double kTripsToStall = 8;
// Before a round trip of a link is known, it counts as a wire of 10 Mbit.
constexpr double kSlowestBytesPerS = 1.25e6;

ErrorCode known_code(uint16_t code) {
  const auto table = error_table();
  const bool is_known = std::ranges::any_of(
      table, [&](const ErrorInfo& info) { return static_cast<uint16_t>(info.code) == code; });
  return is_known ? static_cast<ErrorCode>(code) : ErrorCode::kInternal;
}

}  // namespace

std::string Mover::State::over_link(transports::LinkIndex link, transports::PeerIndex from) const {
  return fmt::format(
      "; rank {} had it from rank {} over link {}", parts_.rank, from, links_[link].counters.name);
}

// Every process gets a note, by each that learns of it: one that has no flow with those who failed may have others.
void Mover::State::fail(uint64_t channel, const Error& cause, bool is_own) {
  const auto [at, is_new] = failures_.try_emplace(channel);
  if (!is_new) return;
  Failure& failure = at->second;
  failure.code = cause.code;
  failure.text = cause.message;
  failure.since = failure.tell_at = now_;
  for (transports::PeerIndex rank = 0; rank < ranks_; ++rank) {
    if (paths_.has_path(rank)) failure.unaware.insert(rank);
  }
  failures_in_order_.push_back(channel);
  while (failures_in_order_.size() > kFailuresMax) {
    const auto oldest = failures_.find(failures_in_order_.front());
    if (oldest != failures_.end()) {
      if (!oldest->second.unaware.empty()) break;  // a process does not know yet
      failures_.erase(oldest);
    }
    failures_in_order_.pop_front();
  }
  detach(channel, cause.code);
  if (!is_own) to_report_.emplace_back(channel, cause);
}

void Mover::State::take_failed(transports::PeerIndex from, const NoteEntry& entry) {
  NoteEntry seen;
  seen.kind = NoteKind::kFailedSeen;
  seen.flow = entry.flow;
  answer(from, seen);
  fail(entry.flow.channel, Error{known_code(entry.code), std::string(entry.text)}, false);
  const auto failure = failures_.find(entry.flow.channel);
  if (failure != failures_.end()) failure->second.unaware.erase(from);
}

void Mover::State::tell_failures() {
  for (auto& [channel, failure] : failures_) {
    if (failure.unaware.empty() || now_ < failure.tell_at) continue;
    std::erase_if(failure.unaware,
                  [&](transports::PeerIndex rank) { return !paths_.has_path(rank); });
    // Who has not answered by then is not there.
    if (now_ - failure.since > 2 * parts_.settings.lost_after_s) failure.unaware.clear();
    NoteEntry entry;
    entry.kind = NoteKind::kFailed;
    entry.flow.channel = channel;
    entry.code = static_cast<uint16_t>(failure.code);
    for (const transports::PeerIndex rank : failure.unaware) {
      if (failure.times > 0) peers_[rank].is_repeating = true;
      answer(rank, entry, failure.text);
    }
    failure.tell_at = now_ + std::ldexp(parts_.settings.resend_after_s,
                                        std::min(failure.times, kRetryDoublingsMax));
    ++failure.times;
  }
}

void Mover::State::tell_last_totals() {
  for (LastTotal& last : last_totals_) {
    if (now_ < last.tell_at) continue;
    answer(last.peer, last.entry);
    peers_[last.peer].is_repeating = true;
    last.tell_at = now_ + parts_.settings.resend_after_s;
  }
  std::erase_if(last_totals_, [&](const LastTotal& last) {
    return !paths_.has_path(last.peer) || now_ - last.since > 2 * parts_.settings.lost_after_s;
  });
}

void Mover::State::fail_all_with(transports::PeerIndex rank, const std::string& why) {
  std::set<uint64_t> channels;
  for (const auto& flow : peers_[rank].outgoing) {
    if (!flow->is_through()) channels.insert(flow->moved().id.channel);
  }
  for (const auto& flow : peers_[rank].incoming) {
    if (!flow->has_arrived()) channels.insert(flow->moved().id.channel);
  }
  for (const uint64_t channel : channels) {
    fail(channel, make_error(ErrorCode::kAgentLost, "{}", why), false);
  }
}

// A process that was stopped itself (a suspended job, a paused machine) cannot say that others were silent meanwhile.
void Mover::State::forgive_own_sleep() {
  const MoverSettings& settings = parts_.settings;
  if (now_ - looked_at_ > std::min(settings.lost_after_s, settings.stalled_after_s) / 2) {
    for (Peer& peer : peers_) peer.needed_since = now_;
    for (LinkUse& use : links_) {
      use.watched_since = now_;
      use.unanswered_since = -kLongAgoS;
    }
  }
  looked_at_ = now_;
}

// Now and then: who has been silent for how long, and on which link.
void Mover::State::look_around() {
  forgive_own_sleep();
  std::vector<bool> needs_link(links_.size(), false);
  bool needs_any = false;
  for (transports::PeerIndex rank = 0; rank < ranks_; ++rank) {
    Peer& peer = peers_[rank];
    const bool was_needed = peer.is_needed;
    peer.is_needed =
        std::ranges::any_of(peer.outgoing, [](const auto& flow) { return !flow->is_through(); }) ||
        std::ranges::any_of(peer.incoming, [](const auto& flow) { return !flow->has_arrived(); });
    if (!peer.is_needed) continue;
    if (!was_needed) peer.needed_since = now_;
    look_at_peer(rank, needs_link);
    needs_any = true;
  }
  for (transports::LinkIndex link = 0; link < links_.size(); ++link) {
    // Nor does a link go unwatched that has not let go of all its frames, or that passes what others send: that is not
    // acknowledged here.
    const LinkUse& use = links_[link];
    const bool is_busy = use.own_frames + use.passed_frames > 0 ||
                         now_ - use.passed_at < parts_.settings.lost_after_s;
    needs_any |= is_busy && !use.is_lost;
    look_at_link(link, needs_link[link] || is_busy);
  }
  const double every_s = std::min(parts_.settings.keepalive_s, parts_.settings.resend_after_s) / 4;
  look_at_ = needs_any ? now_ + every_s : kNeverDue;
}

void Mover::State::look_at_peer(transports::PeerIndex rank, std::vector<bool>& needs_link) {
  const Peer& peer = peers_[rank];
  const double silent_s = now_ - std::max(peer.heard_at, peer.needed_since);
  if (silent_s > parts_.settings.lost_after_s) {
    std::string links;
    bool is_relayed = false;
    for (const PathIndex path : paths_.of(rank)) {
      links += (links.empty() ? "" : ", ") + paths_.link_of(path).counters.name;
      is_relayed |= paths_.at(path).to.is_relayed;
    }
    fail_all_with(rank,
                  fmt::format("rank {} has heard nothing from rank {} for {:.1f} s (limit {} s), "
                              "over {}; see whether that process runs{}",
                              parts_.rank,
                              rank,
                              silent_s,
                              parts_.settings.lost_after_s,
                              links,
                              is_relayed ? ", and those that pass frames on" : ""));
    return;
  }
  for (const PathIndex index : paths_.of(rank)) {
    Path& path = paths_.at(index);
    if (!paths_.is_usable(index)) continue;
    needs_link[path.to.first] = true;
    if (path.is_suspect && now_ >= path.suspect_until && path.answered_at > path.suspect_since)
      path.is_suspect = false;
    // Before anything needed it there was nothing to hear.
    const double heard_at = std::max(path.heard_at, peer.needed_since);
    const bool is_silent = now_ - heard_at >= parts_.settings.keepalive_s;
    // Notes may be lost; before a process counts as lost it is asked more often.
    const bool is_pressing = path.is_suspect || silent_s > parts_.settings.lost_after_s / 2;
    const double every_s =
        is_pressing ? parts_.settings.resend_after_s : parts_.settings.keepalive_s;
    if ((is_silent || path.is_suspect) && now_ - path.asked_at >= every_s) {
      if (tell_on(path.to.first, rank, NoteEntry{})) path.asked_at = now_;
    }
  }
}

// What a link holds, no other can use: slots that it reads, and places where it has begun to write.
bool Mover::State::is_holding(transports::LinkIndex link) const {
  const LinkUse& use = links_[link];
  return use.own_frames + use.passed_frames > 0 ||
         std::ranges::any_of(placements_, [&](const Placement& one) { return one.link == link; });
}

// Whether the link's silence, since `alive_at`, is its own and not its peer's.
bool Mover::State::is_stalled(transports::LinkIndex link, double alive_at) const {
  const transports::PeerIndex peer = links_[link].link->peer();
  const PathIndex direct = paths_.find(peer, link);
  double trip_s = direct == kNoPath ? 0 : paths_.at(direct).trip_s;
  if (trip_s == 0) trip_s = static_cast<double>(links_[link].bytes_under_way) / kSlowestBytesPerS;
  const double after_s = std::max(parts_.settings.stalled_after_s, kTripsToStall * trip_s);
  if (now_ - alive_at < after_s || !links_[link].is_silent || !is_holding(link)) return false;
  return std::ranges::any_of(paths_.of(peer), [&](PathIndex path) {
    return path != direct && paths_.is_usable(path) &&
           paths_.at(path).heard_at > alive_at + after_s / 2;
  });
}

// A link through which flows go to a third process is asked for an answer of the process at its end, so that the link's
// silence can be separated from that of the third.
void Mover::State::look_at_link(transports::LinkIndex link, bool is_needed) {
  LinkUse& use = links_[link];
  if (!is_needed || use.is_lost) {
    use.is_watched = use.is_silent = false;
    return;
  }
  // What was not heard while no thread listened for it is no silence.
  if (!use.is_watched) {
    use.is_watched = true;
    use.watched_since = now_;
    use.unanswered_since = -kLongAgoS;
  }
  const double alive_at = std::max({use.heard_at, use.delivered_at, use.watched_since});
  const double silent_s = now_ - alive_at;
  use.is_silent = use.unanswered_since > alive_at &&
                  now_ - use.unanswered_since >= parts_.settings.resend_after_s;
  const double every_s =
      is_holding(link) ? parts_.settings.resend_after_s : parts_.settings.keepalive_s;
  if (silent_s >= every_s && now_ - use.asked_at >= every_s) {
    if (tell_on(link, use.link->peer(), NoteEntry{})) {
      if (use.unanswered_since <= alive_at) use.unanswered_since = now_;
      use.asked_at = now_;
    }
  }
  if (use.is_given_up) return;
  if (silent_s > parts_.settings.lost_after_s || is_stalled(link, alive_at))
    give_up(link, silent_s);
}

void Mover::State::give_up(transports::LinkIndex link, double silent_s) {
  LinkUse& use = links_[link];
  use.is_given_up = true;
  use.link->abandon();
  drop_paths(
      link,
      fmt::format(
          "link {} of rank {} was silent for {:.1f} s", use.counters.name, parts_.rank, silent_s));
}

void Mover::State::lost(transports::LinkIndex link, const Error& cause) {
  LinkUse& use = links_[link];
  if (use.is_lost) return;
  use.is_lost = use.counters.is_lost = true;
  for (const uint64_t token : under_way_.on_link(link)) {
    FrameUnderWay& frame = under_way_.at(token);
    if (frame.passed_on) {
      ++links_[frame.passed_on->from].counters.dropped;
      transit_.release(std::move(frame.passed_on));
    } else {
      frame.flow->sent(frame.header.sequence);
      if (frame.flow->take_recycled()) ring(frame.flow->moved());
    }
    under_way_.close(token);
  }
  use.own_frames = use.passed_frames = 0;
  use.bytes_under_way = 0;
  transit_.lost(link);
  for (const Placement& placement : placements_) {
    if (placement.link == link) placement.flow->unplace(placement.header.sequence);
  }
  std::erase_if(placements_, [&](const Placement& placement) { return placement.link == link; });
  drop_paths(
      link, fmt::format("rank {} lost link {}: {}", parts_.rank, use.counters.name, cause.message));
}

// The channels that have no path left of those that they may use, though others lead to the process.
void Mover::State::fail_without_path(transports::PeerIndex rank, const std::string& why) {
  std::set<uint64_t> channels;
  for (const auto& flow : peers_[rank].outgoing) {
    if (!flow->is_through() && !paths_.has_path_for(frame_of(*flow)))
      channels.insert(flow->moved().id.channel);
  }
  for (const uint64_t channel : channels) {
    fail(channel,
         make_error(ErrorCode::kNoPath,
                    "rank {} has no link to rank {} any more that channel {} may use: {}; plan it "
                    "over other links, too",
                    parts_.rank,
                    rank,
                    channel,
                    why),
         false);
  }
}

// What was under way on the paths goes again over others; where there are none, the channels are over.
void Mover::State::drop_paths(transports::LinkIndex link, const std::string& why) {
  for (transports::PeerIndex rank = 0; rank < ranks_; ++rank) {
    const PathIndex path = paths_.find(rank, link);
    if (path == kNoPath) continue;
    for (const auto& flow : peers_[rank].outgoing) {
      flow->path_lost(path);
      flow->tell_again();
      look_at(*flow);
    }
    for (const auto& flow : peers_[rank].incoming) {
      flow->answer();
      look_at(*flow);
    }
    if (paths_.has_path(rank)) {
      fail_without_path(rank, why);
      continue;
    }
    const std::string no_link =
        fmt::format("rank {} has no link to rank {} any more: {}", parts_.rank, rank, why);
    fail_all_with(rank, no_link);
    // Where no connection ever came about (a firewall), the process may well live.
    const bool was_connected = std::ranges::any_of(
        paths_.of(rank), [&](PathIndex one) { return paths_.link_of(one).link->was_connected(); });
    if (was_connected)
      lost_ranks_.emplace_back(rank, make_error(ErrorCode::kAgentLost, "{}", no_link));
  }
}

}  // namespace crossdock::movers
