// Paths by occupancy, and what is known of their health.
#include "data/movers/path_choice.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "base/check.hpp"

namespace crossdock {
namespace {

constexpr int kDoublingsMax = 6;

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

std::span<const PathIndex> PathChoice::of(PeerIndex peer) const {
  return peer < of_peer_.size() ? std::span<const PathIndex>(of_peer_[peer])
                                : std::span<const PathIndex>();
}

bool PathChoice::has_room(const Path& path, const FrameWanted& frame) const {
  const LinkUse& use = links_[path.to.first];
  if (use.is_lost || use.is_given_up || use.is_full) return false;
  if (frame.is_passed_on) return use.passed_frames < settings_.outstanding;
  if (use.own_frames >= settings_.outstanding) return false;
  return !path.to.is_relayed ||
         (use.in_transit < settings_.transit && frame.bytes <= settings_.transit_bytes_max);
}

// A relayed path has under way what the peer has not acknowledged, for what its second half does shows nowhere else.
double PathChoice::through_s(const Path& path, uint64_t bytes) const {
  const LinkUse& use = links_[path.to.first];
  const double on_link = static_cast<double>(use.bytes_under_way + bytes) / use.rate_bytes_per_s;
  if (!path.to.is_relayed) return on_link;
  return std::max(on_link,
                  static_cast<double>(path.unacked_bytes + 2 * bytes) / path.rate_bytes_per_s);
}

PathIndex PathChoice::choose(const FrameWanted& frame) const {
  if (settings_.is_static && !frame.is_passed_on) return choose_static(frame);
  // Paths under suspicion get frames only where there are no others at all; full ones are worth waiting for.
  bool has_sound = false;
  PathIndex best = kNoPath, best_suspect = kNoPath;
  for (const PathIndex index : of(frame)) {
    const Path& path = paths_[index];
    if (!is_usable(index) || index == frame.avoid) continue;
    if (frame.is_passed_on && path.to.is_relayed) continue;
    if (is_sound(path)) has_sound = true;
    if (!has_room(path, frame)) continue;
    PathIndex& kept = is_sound(path) ? best : best_suspect;
    if (kept == kNoPath) {
      kept = index;
      continue;
    }
    const double mine = through_s(path, frame.bytes);
    const double other = through_s(paths_[kept], frame.bytes);
    const bool is_wider = path.rate_bytes_per_s > paths_[kept].rate_bytes_per_s;
    if (mine < other || (mine == other && is_wider)) kept = index;
  }
  return has_sound ? best : best_suspect;
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
PathIndex PathChoice::choose_for_note(PeerIndex peer, uint64_t skip, bool is_passed_on) const {
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
  const auto wanted = left.begin() + static_cast<ptrdiff_t>(skip % left.size());
  std::ranges::nth_element(left, wanted, std::less(), rank);
  return *wanted;
}

bool PathChoice::has_path(PeerIndex peer, PathIndex except) const {
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

bool PathChoice::has_straight_path(PeerIndex peer) const {
  return std::ranges::any_of(
      of(peer), [&](PathIndex path) { return !paths_[path].to.is_relayed && is_usable(path); });
}

PathIndex PathChoice::find(PeerIndex peer, LinkIndex link) const {
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
  const double wanted = std::max({settings_.resend_after_s, measured, planned});
  // Acknowledgements that come late because notes were lost are measured too, so there is an end to patience.
  return std::min(std::ldexp(wanted, path.doublings),
                  std::max(settings_.resend_after_s, settings_.lost_after_s / 4));
}

// Van Jacobson, "Congestion Avoidance and Control" (SIGCOMM 1988), appendix A; only frames that were sent once are
// measured, since the acknowledgement of others may be that of either (Karn and Partridge, SIGCOMM 1987).
void PathChoice::measured(PathIndex index, double trip_s) {
  Path& path = paths_[index];
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
}

void PathChoice::suspect(PathIndex index, double now) {
  Path& path = paths_[index];
  path.doublings = std::min(path.doublings + 1, kDoublingsMax);
  if (path.is_suspect) return;
  path.is_suspect = true;
  path.suspect_since = now;
  path.suspect_for_s =
      std::clamp(2 * path.suspect_for_s, settings_.resend_after_s, settings_.lost_after_s);
  path.suspect_until = now + path.suspect_for_s;
}

void PathChoice::heard(PeerIndex peer, LinkIndex link, double now) {
  const PathIndex index = find(peer, link);
  if (index != kNoPath) paths_[index].heard_at = now;
}

}  // namespace crossdock
