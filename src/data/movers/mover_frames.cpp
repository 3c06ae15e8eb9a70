// Frames: own ones leave, those of others pass, and what arrives gets its place.
#include <algorithm>

#include "base/check.hpp"
#include "data/movers/mover_state.hpp"
#include "data/movers/outgoing_frame.hpp"
#include "data/trace/segment_trace.hpp"

namespace crossdock::movers {
namespace {

constexpr int kFramesPerStep = 64;

void note(const rings::SegmentHeader& header, transports::LinkIndex link, trace::SegmentStep step) {
  if (!trace::SegmentTrace::is_on()) return;
  trace::SegmentTrace::note({.channel = header.channel,
                             .sequence = header.sequence,
                             .source = header.source,
                             .outlet = header.outlet,
                             .step = step,
                             .link = static_cast<uint16_t>(link)});
}

}  // namespace

void Mover::State::heard(transports::LinkIndex link, transports::PeerIndex from) {
  links_[link].heard_at = now_;
  if (from >= ranks_) return;
  peers_[from].heard_at = now_;
  paths_.heard(from, link, now_);
}

// Turns go around peers and their flows, a frame each, so that no flow waits for another that has more to send.
bool Mover::State::send_frames() {
  put_in_turn();
  int sent = 0;
  bool has_sent = true;
  while (has_sent && sent < kFramesPerStep) {
    has_sent = false;
    for (size_t i = 0; i < busy_.size() && sent < kFramesPerStep; ++i) {
      Peer& peer = peers_[busy_[i]];
      const size_t flows = peer.sending.size();
      for (size_t turn = 0; turn < flows && sent < kFramesPerStep; ++turn) {
        OutgoingFlow& flow = *peer.sending[peer.next_outgoing % flows];
        ++peer.next_outgoing;
        const FrameWanted frame = frame_of(flow);
        const std::optional<uint64_t> again =
            flow.again({now_, peer.overtaken_at, paths_.sound(frame)});
        flow.turn.has_no_room = paths_.waits_for_sent(frame);
        if (flow.turn.has_no_room) continue;
        const bool went = (again && send_again(flow, *again)) || send_fresh(flow);
        if (!went) continue;
        next_peer_ = (busy_[i] + 1) % ranks_;
        has_sent = true;
        ++sent;
      }
    }
  }
  return sent > 0;
}

FrameWanted Mover::State::frame_of(const OutgoingFlow& flow) const {
  FrameWanted frame;
  frame.now = now_;
  frame.peer = flow.moved().peer;
  frame.flow = flow.moved().id;
  frame.paths = flow.moved().paths;
  return frame;
}

bool Mover::State::send_fresh(OutgoingFlow& flow) {
  FrameWanted frame = frame_of(flow);
  const std::byte* segment = flow.fresh();
  if (segment == nullptr) {
    if (!flow.is_held_back()) return false;
    ++flow.counters.stalled_no_credit;
    const auto paths = paths_.of(frame);
    if (!paths.empty()) ++paths_.link_of(paths.front()).counters.stalled_no_credit;
    return false;
  }
  frame.bytes = frame_bytes(*flow.moved().layout, segment, flow.moved().flow.ring.shape);
  frame.window_bytes = peers_[frame.peer].window_bytes;
  const PathIndex path = paths_.choose(frame);
  if (path != kNoPath) return send(flow, flow.next(), path);
  ++flow.counters.stalled_link_full;
  const auto paths = paths_.of(frame);
  if (!paths.empty()) ++paths_.link_of(paths.front()).counters.stalled_link_full;
  return false;
}

// Takes the place of what it was before, also in transit: or frames that were lost there would keep each other out.
bool Mover::State::send_again(OutgoingFlow& flow, uint64_t sequence) {
  Flight before = flow.flight(sequence);
  forget(before);
  const PathIndex path = choose_again(flow, before);
  if (path == kNoPath || !send(flow, sequence, path)) {
    remember(before);
    return false;
  }
  ++flow.counters.resent;
  ++paths_.link_of(path).counters.resent;
  // A peer from which nothing comes back is no reason to mistrust the path.
  const transports::PeerIndex to = flow.moved().peer;
  if (paths_.is_usable(before.path) && peers_[to].overtaken_at > before.sent_at) {
    paths_.suspect(before.path, now_);
    Path& suspect = paths_.at(before.path);
    const bool is_asked = suspect.asked_at >= suspect.suspect_since;
    if (!is_asked && tell_on(suspect.to.first, to, NoteEntry{})) suspect.asked_at = now_;
  }
  return true;
}

// Another path; the same one only if its link has let go of the frame, and no other will have room by itself: what is
// in transit there may be lost as well, and wait for this very frame to be acknowledged.
PathIndex Mover::State::choose_again(const OutgoingFlow& flow, const Flight& before) {
  FrameWanted frame = frame_of(flow);
  frame.bytes = before.bytes;
  frame.avoid = before.path;
  const PathIndex other = paths_.choose(frame);
  if (other != kNoPath || before.puts > 0 || paths_.is_sending(frame, before.path)) return other;
  return paths_.has_room(before.path, frame) ? before.path : kNoPath;
}

bool Mover::State::send(OutgoingFlow& flow, uint64_t sequence, PathIndex path) {
  LinkUse& use = paths_.link_of(path);
  uint64_t token = 0;
  FrameUnderWay& frame = under_way_.open(token);
  const std::span<const std::byte> payload = fill_frame(frame, flow, sequence);
  frame.header.from_rank = static_cast<uint16_t>(parts_.rank);
  const bool is_stamped_there = parts_.settings.checksums && use.link->stamps();
  finish_frame(frame.header, payload, parts_.settings.checksums && !is_stamped_there);
  const bool went = is_stamped_there ? use.link->put_unstamped(frame.header, payload, token)
                                     : use.link->put(frame.header, payload, token);
  if (!went) {
    refused(paths_.at(path).to.first);
    under_way_.close(token);
    return false;
  }
  frame.flow = flow.shared_from_this();
  frame.link = paths_.at(path).to.first;
  note(frame.header, frame.link, trace::SegmentStep::kPut);
  Flight flight;
  flight.sent_at = now_;
  flight.bytes = frame.header.bytes;
  flight.path = path;
  remember(flight);
  flight.timeout_s = paths_.resend_after_s(path);
  flight.overtaken_s = paths_.overtaken_after_s(path);
  flow.put(sequence, flight);
  count_window(flow);
  ++use.own_frames;
  use.bytes_under_way += frame.header.bytes;
  ++use.counters.frames_sent;
  use.counters.bytes_sent += sizeof(rings::SegmentHeader) + frame.header.bytes;
  return true;
}

void Mover::State::refused(transports::LinkIndex link) {
  links_[link].is_full = was_refused_ = true;
  full_.push_back(link);
}

void Mover::State::remember(Flight& flight) {
  flight.then = paths_.put(flight.path, flight.bytes, now_);
  if (paths_.at(flight.path).to.is_relayed) ++paths_.link_of(flight.path).in_transit;
}

// A flight is over, or another one takes its place.
void Mover::State::forget(const Flight& flight) {
  paths_.forget(flight.path, flight.bytes);
  if (paths_.at(flight.path).to.is_relayed) --paths_.link_of(flight.path).in_transit;
}

bool Mover::State::pass_on() {
  std::vector<transports::PeerIndex> ranks;
  for (const auto& [rank, frames] : transit_.waiting()) ranks.push_back(rank);
  bool has_passed = false;
  for (const transports::PeerIndex rank : ranks) {
    while (transit_.waiting().contains(rank) && pass_one(rank)) has_passed = true;
  }
  return has_passed;
}

bool Mover::State::pass_one(transports::PeerIndex to) {
  const TransitFrame& next = *transit_.waiting().at(to).front();
  if (!paths_.has_straight_path(to)) {
    ++links_[next.from].counters.dropped;
    transit_.release(transit_.take(to));
    return true;
  }
  FrameWanted request;
  request.peer = to;
  request.bytes = next.header.bytes;
  request.is_passed_on = true;
  request.now = now_;
  const PathIndex path = paths_.choose(request);
  if (path == kNoPath) return false;
  LinkUse& use = paths_.link_of(path);
  uint64_t token = 0;
  FrameUnderWay& frame = under_way_.open(token);
  frame.header = next.header;
  if (!use.link->put(frame.header, std::span(next.payload.get(), next.header.bytes), token)) {
    refused(paths_.at(path).to.first);
    under_way_.close(token);
    return false;
  }
  frame.link = paths_.at(path).to.first;
  frame.passed_on = transit_.take(to);
  note(frame.header, frame.link, trace::SegmentStep::kPut);
  use.passed_at = now_;
  if (look_at_ == kNeverDue) look_at_ = now_;
  ++use.passed_frames;
  use.bytes_under_way += frame.header.bytes;
  ++use.counters.frames_sent;
  ++use.counters.relayed;
  use.counters.bytes_sent += sizeof(rings::SegmentHeader) + frame.header.bytes;
  return true;
}

void Mover::State::sent(transports::LinkIndex link, uint64_t token) {
  FrameUnderWay& frame = under_way_.at(token);
  CD_CHECK(frame.link == link, "link {} tells of a frame on link {}", link, frame.link);
  LinkUse& use = links_[link];
  use.bytes_under_way -= frame.header.bytes;
  if (frame.passed_on) {
    --use.passed_frames;
    transit_.release(std::move(frame.passed_on));
  } else {
    --use.own_frames;
    look_at_waiting(link);
    frame.flow->sent(frame.header.sequence);
    look_at(*frame.flow);
    if (frame.flow->take_recycled()) ring(frame.flow->moved());
  }
  under_way_.close(token);
}

std::byte* Mover::State::place(transports::LinkIndex link, const rings::SegmentHeader& header) {
  LinkCounters& counters = links_[link].counters;
  ++counters.frames_received;
  counters.bytes_received += sizeof(rings::SegmentHeader) + header.bytes;
  if (header.magic != rings::kSegmentMagic || header.from_rank >= ranks_ ||
      header.to_rank >= ranks_) {
    ++counters.malformed;
    return nullptr;
  }
  heard(link, header.from_rank);
  if (header.to_rank == parts_.rank) return place_own(link, header);
  std::byte* payload = nullptr;
  if (header.hop == 0 && paths_.has_straight_path(header.to_rank))
    payload = transit_.place(link, header);
  if (payload == nullptr) ++counters.dropped;
  return payload;
}

std::byte* Mover::State::place_own(transports::LinkIndex link, const rings::SegmentHeader& header) {
  LinkCounters& counters = links_[link].counters;
  const FlowId id{.channel = header.channel, .source = header.source, .outlet = header.outlet};
  auto entry = incoming_.find(id);
  if (entry == incoming_.end() && drain()) entry = incoming_.find(id);
  if (entry == incoming_.end()) {
    ++(finished_.contains(id) ? counters.duplicates : counters.dropped);
    answer_stray(id, header.from_rank, NoteKind::kAsk);
    return nullptr;
  }
  const std::shared_ptr<IncomingFlow> flow = entry->second;
  look_at(*flow);
  const Status checked = flow->check(header, ranks_);
  if (!checked.ok()) {
    ++counters.malformed;
    fail(id.channel,
         Error{checked.error().code, checked.error().message + over_link(link, flow->moved().peer)},
         false);
    return nullptr;
  }
  std::byte* payload = flow->place(header);
  if (payload == nullptr && take_from_silent(*flow, header.sequence)) payload = flow->place(header);
  if (payload == nullptr) {
    ++counters.duplicates;
    return nullptr;
  }
  placements_.push_back({.link = link, .header = header, .payload = payload, .flow = flow});
  return payload;
}

// A frame that stuck on its way must not keep the copy out that was sent in its place.
bool Mover::State::take_from_silent(IncomingFlow& flow, uint64_t sequence) {
  if (!flow.may_change_hands(sequence)) return false;
  const auto stuck = std::ranges::find_if(placements_, [&](const Placement& placement) {
    return placement.flow.get() == &flow && placement.header.sequence == sequence;
  });
  if (stuck == placements_.end()) return false;
  LinkUse& use = links_[stuck->link];
  if (!use.link->revoke(stuck->payload)) return false;
  ++use.counters.dropped;
  flow.change_hands(sequence);
  placements_.erase(stuck);
  return true;
}

// Who only passes a frame on does not look at its checksum.
bool Mover::State::wants_sum(const rings::SegmentHeader& header) const {
  return parts_.settings.checksums && header.to_rank == parts_.rank;
}

// The header's checksum may have come behind the payload.
void Mover::State::placed(transports::LinkIndex link,
                          const rings::SegmentHeader& header,
                          std::byte* payload,
                          std::optional<uint32_t> checksum) {
  if (transit_.placed(link, payload, header.checksum)) return;
  const auto written = std::ranges::find_if(placements_, [&](const Placement& placement) {
    return placement.link == link && placement.payload == payload;
  });
  CD_CHECK(written != placements_.end(), "link {} wrote where it had no place", link);
  Placement placement = std::move(*written);
  placements_.erase(written);
  placement.header.checksum = header.checksum;
  const Status checked = placement.flow->placed(placement.header, checksum);
  const MovedFlow& moved = placement.flow->moved();
  if (placement.flow->is_closed()) return;
  look_at(*placement.flow);
  if (checked.ok()) {
    note(placement.header, link, trace::SegmentStep::kArrived);
    ring(moved);
    return;
  }
  ++links_[link].counters.malformed;
  fail(moved.id.channel,
       Error{checked.error().code, checked.error().message + over_link(link, moved.peer)},
       false);
}

}  // namespace crossdock::movers
