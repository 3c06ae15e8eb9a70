#include "data/movers/path_choice.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "base/check.hpp"

namespace crossdock::movers {
namespace {

constexpr int kPathDoublingsMax = 6;
// A path that rests counts as twice as fast after so many of its round trips: or one that was slow once, because others
// had its NIC, would not be tried again.
constexpr double kForgetsInTrips = 2;
// A path without room is waited for if it would be through this much sooner than any with room: rates are estimates.
constexpr double kWorthWaiting = 2;
// Of paths that differ by less than this, the one with the least under way.
constexpr double kAlike = 1.5;
constexpr double kNeverOpen = std::numeric_limits<double>::infinity();
// What acknowledgements may be late by without a path's fault: they wait for company, for the mover's turn, and for a
// core.
constexpr double kAckLateS = 0.01;
constexpr double kHiccupS = 0.03;

// Links without a planned rate count as the average of those with one.
void fill_rates(std::vector<LinkUse>& links) {
  double sum = 0;
  int known = 0;
  for (const LinkUse& use : links) {
    const double rate = use.link->rate_bytes_per_s();
    if (!(rate > 0)) continue;
    sum += rate;
    ++known;
  }
  const double average = known == 0 ? 1e9 : sum / known;
  for (LinkUse& use : links) {
    const double rate = use.link->rate_bytes_per_s();
    use.rate_bytes_per_s = rate > 0 ? rate : average;
  }
}

}  // namespace

PathChoice::PathChoice(std::vector<LinkUse>& links,
                       std::span<const PathTo> paths,
                       MoverSettings settings)
    : links_(links), settings_(settings) {
  fill_rates(links_);
  for (const PathTo& to : paths) {
    CD_CHECK(to.first < links_.size(), "link {} of {}", to.first, links_.size());
    CD_CHECK(to.is_relayed == (links_[to.first].link->peer() != to.peer),
             "a path to rank {} begins with a link to rank {}, relayed {}",
             to.peer,
             links_[to.first].link->peer(),
             to.is_relayed);
    Path path;
    path.to = to;
    path.rate_bytes_per_s =
        to.rate_bytes_per_s > 0 ? to.rate_bytes_per_s : links_[to.first].rate_bytes_per_s;
    if (of_peer_.size() <= to.peer) of_peer_.resize(to.peer + 1);
    of_peer_[to.peer].push_back(static_cast<PathIndex>(paths_.size()));
    paths_.push_back(path);
  }
}

std::span<const PathIndex> PathChoice::of(transports::PeerIndex peer) const {
  return peer < of_peer_.size() ? std::span<const PathIndex>(of_peer_[peer])
                                : std::span<const PathIndex>();
}

bool PathChoice::has_room(const Path& path, const FrameWanted& frame) const {
  const LinkUse& use = links_[path.to.first];
  if (use.is_lost || use.is_given_up || use.is_full || !use.link->takes(frame.bytes)) return false;
  if (frame.is_passed_on) return use.passed_frames < settings_.outstanding;
  if (use.own_frames >= settings_.outstanding) return false;
  return !path.to.is_relayed ||
         (use.in_transit < settings_.transit && frame.bytes <= settings_.transit_bytes_max);
}

bool PathChoice::waits_for_sent(const FrameWanted& frame) const {
  bool is_any_usable = false;
  for (const PathIndex index : of(frame)) {
    if (!is_usable(index)) continue;
    is_any_usable = true;
    if (paths_[index].to.is_relayed || link_of(index).own_frames < settings_.outstanding)
      return false;
  }
  return is_any_usable;
}

// A relayed path's first link may be busy with others, which its own acknowledgements do not show.
double PathChoice::through_s(const Path& path, const FrameWanted& frame) const {
  const LinkUse& use = links_[path.to.first];
  const auto seconds = [&](uint64_t ahead, double rate) {
    return static_cast<double>(ahead + frame.bytes) / rate;
  };
  const double on_link = seconds(use.bytes_under_way, use.rate_bytes_per_s);
  const double since_s = std::max(0.0, frame.now - path.delivered_at);
  if (path.unacked_bytes == 0) {
    // While its link moves frames of others the path does not rest, and what was measured holds.
    if (use.bytes_under_way > 0) return on_link;
    return on_link * std::exp2(-since_s / (kForgetsInTrips * path.trip_s + kAckLateS));
  }
  const uint64_t again = path.to.is_relayed ? frame.bytes : 0;  // it is sent twice
  // What has brought nothing for so long is not about to bring this one sooner.
  return std::max({on_link, seconds(path.unacked_bytes + again, path.rate_bytes_per_s), since_s});
}

// Paths under suspicion get frames only where there are no others at all; full ones are worth waiting for.
PathIndex PathChoice::choose(const FrameWanted& frame) const {
  if (settings_.is_static && !frame.is_passed_on) return choose_static(frame);
  const auto is_allowed = [&](PathIndex index) {
    return is_usable(index) && index != frame.avoid &&
           !(frame.is_passed_on && paths_[index].to.is_relayed);
  };
  const bool has_sound = std::ranges::any_of(
      of(frame), [&](PathIndex index) { return is_allowed(index) && is_sound(paths_[index]); });
  double soonest_s = kNeverOpen, soonest_with_room_s = kNeverOpen, rates = 0;
  bool is_measured = false;  // the soonest of all
  for (const PathIndex index : of(frame)) {
    const Path& path = paths_[index];
    if (!is_allowed(index) || is_sound(path) != has_sound) continue;
    const double through = through_s(path, frame);
    rates += path.rate_bytes_per_s;
    if (through < soonest_s) is_measured = path.is_measured;
    soonest_s = std::min(soonest_s, through);
    if (has_room(path, frame)) soonest_with_room_s = std::min(soonest_with_room_s, through);
  }
  // As long as flows can go on meanwhile, a slow path that has nothing to do is wasted; half a window allows for what
  // is under way already.
  const double patience_s = static_cast<double>(frame.window_bytes) / 2 / rates;
  if (has_sound && is_measured &&
      soonest_with_room_s > std::max(kWorthWaiting * soonest_s, patience_s)) {
    return kNoPath;
  }
  return least_busy(frame, has_sound, kAlike * soonest_with_room_s);
}

// Of the paths that would be through in that time.
PathIndex PathChoice::least_busy(const FrameWanted& frame,
                                 bool is_of_sound,
                                 double within_s) const {
  PathIndex best = kNoPath;
  const auto key = [&](PathIndex index) {
    const Path& path = paths_[index];
    return std::tuple(std::max(path.unacked_bytes, link_of(index).bytes_under_way),
                      through_s(path, frame),
                      -path.rate_bytes_per_s);
  };
  for (const PathIndex index : of(frame)) {
    const Path& path = paths_[index];
    if (!is_usable(index) || index == frame.avoid || is_sound(path) != is_of_sound) continue;
    if ((frame.is_passed_on && path.to.is_relayed) || !has_room(path, frame)) continue;
    if (through_s(path, frame) > within_s) continue;
    if (best == kNoPath || key(index) < key(best)) best = index;
  }
  return best;
}

PathIndex PathChoice::choose_static(const FrameWanted& frame) const {
  std::vector<PathIndex> left;
  for (const PathIndex index : of(frame)) {
    if (is_usable(index) && index != frame.avoid) left.push_back(index);
  }
  if (left.empty()) return kNoPath;
  const PathIndex chosen = left[FlowIdHash()(frame.flow) % left.size()];
  return has_room(paths_[chosen], frame) ? chosen : kNoPath;
}

// The link that something came over last is the one most likely to be whole: who only receives has no frames of its own
// to find out with.
PathIndex PathChoice::choose_for_note(transports::PeerIndex peer,
                                      uint64_t skip,
                                      bool is_passed_on) const {
  std::vector<PathIndex> left;
  for (const PathIndex index : of(peer)) {
    if (is_passed_on && paths_[index].to.is_relayed) continue;
    if (is_usable(index)) left.push_back(index);
  }
  if (left.empty()) return kNoPath;
  const auto rank = [&](PathIndex index) {
    const Path& path = paths_[index];
    return std::tuple(!is_sound(path), path.to.is_relayed, -link_of(index).heard_at, index);
  };
  // Who repeats a note goes around the sound ones, and around all now and then: none of them may be so.
  constexpr uint64_t kAllEvery = 4;
  const auto sound = static_cast<size_t>(
      std::ranges::count_if(left, [&](PathIndex index) { return is_sound(paths_[index]); }));
  const size_t among = sound == 0 || skip % kAllEvery == kAllEvery - 1 ? left.size() : sound;
  const auto chosen = left.begin() + static_cast<ptrdiff_t>(skip % among);
  std::ranges::nth_element(left, chosen, std::less(), rank);
  return *chosen;
}

bool PathChoice::has_path(transports::PeerIndex peer, PathIndex except) const {
  return std::ranges::any_of(of(peer),
                             [&](PathIndex path) { return path != except && is_usable(path); });
}

bool PathChoice::has_path_for(const FrameWanted& frame) const {
  return std::ranges::any_of(of(frame), [&](PathIndex path) { return is_usable(path); });
}

bool PathChoice::is_sending(const FrameWanted& frame, PathIndex except) const {
  return std::ranges::any_of(of(frame), [&](PathIndex path) {
    return path != except && is_usable(path) && link_of(path).own_frames > 0;
  });
}

bool PathChoice::has_straight_path(transports::PeerIndex peer) const {
  return std::ranges::any_of(
      of(peer), [&](PathIndex path) { return !paths_[path].to.is_relayed && is_usable(path); });
}

PathIndex PathChoice::find(transports::PeerIndex peer, transports::LinkIndex link) const {
  for (const PathIndex path : of(peer)) {
    if (paths_[path].to.first == link) return path;
  }
  return kNoPath;
}

double PathChoice::resend_after_s(PathIndex index) const {
  const Path& path = paths_[index];
  const LinkUse& use = links_[path.to.first];
  const double measured = 2 * path.trip_s + 4 * path.trip_varies_s;
  const double planned = 2 *
                         static_cast<double>(std::max(use.bytes_under_way, path.unacked_bytes)) /
                         std::min(use.rate_bytes_per_s, path.rate_bytes_per_s);
  const double seconds = std::max({settings_.resend_after_s, measured, planned});
  // Acknowledgements that come late because notes were lost are measured too, so there is an end to patience.
  return std::min(std::ldexp(seconds, path.doublings),
                  std::max(settings_.resend_after_s, settings_.lost_after_s / 4));
}

double PathChoice::overtaken_after_s(PathIndex index) const {
  const Path& path = paths_[index];
  if (!path.is_measured) return resend_after_s(index);
  const double expected_s = static_cast<double>(path.unacked_bytes) / path.rate_bytes_per_s;
  return kHiccupS + 2 * std::max(path.trip_s + 2 * path.trip_varies_s, expected_s);
}

SoundPaths PathChoice::sound(const FrameWanted& frame) const {
  SoundPaths sound;
  for (const PathIndex index : of(frame)) {
    if (!is_usable(index) || !is_sound(paths_[index])) continue;
    if (sound.first != kNoPath) {
      sound.second = index;
      break;
    }
    sound.first = index;
  }
  return sound;
}

PathThen PathChoice::put(PathIndex index, uint64_t bytes, double now) {
  Path& path = paths_[index];
  const bool is_busy = path.unacked_bytes > 0;
  if (!is_busy) path.delivered_at = now;
  path.unacked_bytes += bytes;
  return {path.delivered_bytes, path.delivered_at, is_busy};
}

void PathChoice::delivered(PathIndex index, uint64_t bytes, double now) {
  Path& path = paths_[index];
  path.delivered_bytes += bytes;
  path.delivered_at = now;
}

// Van Jacobson, "Congestion Avoidance and Control" (SIGCOMM 1988), appendix A; only frames that were sent once are
// measured, since the acknowledgement of others may be that of either (Karn and Partridge, SIGCOMM 1987).
void PathChoice::measured(PathIndex index, const PathThen& then, double sent_at, double now) {
  Path& path = paths_[index];
  const double trip_s = now - sent_at;
  if (path.trip_s == 0) {
    path.trip_s = trip_s;
    path.trip_varies_s = trip_s / 2;
  } else {
    path.trip_varies_s += (std::abs(trip_s - path.trip_s) - path.trip_varies_s) / 4;
    path.trip_s += (trip_s - path.trip_s) / 8;
  }
  path.doublings = 0;
  path.is_suspect = false;
  path.suspect_for_s = 0;
  if (now <= then.delivered_at) return;
  const auto bytes = static_cast<double>(path.delivered_bytes - then.delivered_bytes);
  const double time_s = now - then.delivered_at;
  double rate = bytes / time_s;
  if (path.is_measured && !then.is_busy) {
    // The answer to a frame that was alone may have waited for company: it was this fast at least.
    const double fastest =
        time_s > kNotedWithinS ? bytes / (time_s - kNotedWithinS) : path.rate_bytes_per_s;
    rate = std::clamp(path.rate_bytes_per_s, rate, std::max(rate, fastest));
  }
  path.rate_bytes_per_s += (rate - path.rate_bytes_per_s) * (path.is_measured ? 0.25 : 1);
  path.is_measured = true;
  if (!path.to.is_relayed) links_[path.to.first].rate_bytes_per_s = path.rate_bytes_per_s;
}

void PathChoice::suspect(PathIndex index, double now) {
  Path& path = paths_[index];
  path.doublings = std::min(path.doublings + 1, kPathDoublingsMax);
  if (path.is_suspect) return;
  path.is_suspect = true;
  path.suspect_since = now;
  path.suspect_until = now + path.suspect_for_s;
  path.suspect_for_s =
      std::clamp(2 * path.suspect_for_s, settings_.resend_after_s, settings_.lost_after_s);
}

void PathChoice::answered(PathIndex index, double now) {
  Path& path = paths_[index];
  path.answered_at = now;
  if (now >= path.suspect_until) path.is_suspect = false;
}

void PathChoice::heard(transports::PeerIndex peer, transports::LinkIndex link, double now) {
  const PathIndex index = find(peer, link);
  if (index != kNoPath) paths_[index].heard_at = now;
}

}  // namespace crossdock::movers
