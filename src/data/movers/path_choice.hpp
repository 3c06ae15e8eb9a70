// Which link a segment leaves over: what each has under way, how long answers take, and which ones answer at all.
//
// A path is judged by when it would be through with one more frame: what has left over it and is not acknowledged, and
// the frame, at the rate at which acknowledgements come. What a link has let go of says little: a socket's buffer takes
// some megabytes at once. Rates are measured as in delivery rate estimation (Cheng et al., draft-cheng-iccrg-delivery-
// rate-estimation); a frame waits for a busy path that would still be through first, as in earliest completion first
// (Lim et al., CoNEXT 2017), so no slow path is given a frame for which all others then wait.
//
// One thread, the mover's. Cost of a choice: a look at each path of the peer.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "data/movers/flow_id.hpp"
#include "data/movers/mover.hpp"
#include "data/transports/link.hpp"

namespace crossdock::movers {

inline constexpr PathIndex kNoPath = std::numeric_limits<PathIndex>::max();

inline constexpr double kLongAgoS = 1e9;

// A link and what the mover has on it.
struct LinkUse {
  transports::Link* link = nullptr;
  double rate_bytes_per_s = 1;  // never 0
  int own_frames = 0;           // put and not known to be sent
  int passed_frames = 0;        // the same, of other processes
  uint64_t bytes_under_way = 0;
  int in_transit = 0;    // own frames that another process is to pass on, not acknowledged
  bool is_full = false;  // refused a put in this step
  bool is_lost = false;
  bool is_given_up = false;
  double heard_at = 0;                   // anything came
  double delivered_at = 0;               // a frame that left over it was acknowledged
  double asked_at = 0;                   // a keepalive went
  double unanswered_since = -kLongAgoS;  // the first of those that were not answered
  bool is_silent = false;                // that is a while ago
  double passed_at = -kLongAgoS;         // something of other processes went over it
  bool is_watched = false;
  double watched_since = 0;  // flows have needed it without a break
  LinkCounters counters;
};

// A path as it was when a frame was put on it: what the frame's acknowledgement is measured against.
struct PathThen {
  uint64_t delivered_bytes = 0;
  double delivered_at = 0;
  bool is_busy = false;  // with other frames
};

struct Path {
  PathTo to;
  double rate_bytes_per_s = 1;  // as planned until it is measured
  bool is_measured = false;
  uint64_t unacked_bytes = 0;
  uint64_t delivered_bytes = 0;  // acknowledged ever
  double delivered_at = 0;       // the last time, or when the first frame after a rest was put
  // The round trip from a put to its acknowledgement, smoothed, and how far it varies; 0: not measured.
  double trip_s = 0;
  double trip_varies_s = 0;
  int doublings = 0;  // of the time to resend, since a measurement
  // Frames were not acknowledged though the peer was heard. Used last until it has answered a keepalive and the time is
  // over, which is none the first time and doubles from one suspicion to the next.
  bool is_suspect = false;
  double suspect_since = 0;
  double suspect_until = 0;
  double suspect_for_s = 0;
  double heard_at = 0;     // from the peer, over this path
  double asked_at = 0;     // a keepalive went over it
  double answered_at = 0;  // and was answered
};

struct FrameWanted {
  transports::PeerIndex peer = 0;
  FlowId flow;
  std::span<const PathIndex> paths;  // that it may use; none: all to the peer
  uint64_t bytes = 0;
  PathIndex avoid = kNoPath;
  bool is_passed_on = false;  // of another process: straight paths only
  double now = 0;
  uint64_t window_bytes = 0;  // that flows to the peer may have under way and go on after
};

// Up to two of the paths that a frame may use and that are under no suspicion.
struct SoundPaths {
  PathIndex first = kNoPath, second = kNoPath;

  bool has_other(PathIndex path) const {
    return second != kNoPath || (first != kNoPath && first != path);
  }
};

class PathChoice {
 public:
  PathChoice(std::vector<LinkUse>& links, std::span<const PathTo> paths, MoverSettings settings);

  // The path for a frame, or kNoPath if none has room now, or one without room is worth waiting for.
  PathIndex choose(const FrameWanted& frame) const;
  // The path for a note, straight ones first; `skip` goes on to others. Notes of other processes go straight.
  PathIndex choose_for_note(transports::PeerIndex peer,
                            uint64_t skip,
                            bool is_passed_on = false) const;
  // Whether any path to the peer is left; `except` does not count.
  bool has_path(transports::PeerIndex peer, PathIndex except = kNoPath) const;
  bool has_straight_path(transports::PeerIndex peer) const;
  // Whether any path that the frame may use is left.
  bool has_path_for(const FrameWanted& frame) const;
  // Whether the link of any other path that the frame may use has own frames under way.
  bool is_sending(const FrameWanted& frame, PathIndex except) const;
  // Whether all usable paths of the frame are straight, and their links have as many own frames as they may: then
  // nothing can leave before one of these has sent a frame.
  bool waits_for_sent(const FrameWanted& frame) const;
  bool has_room(PathIndex path, const FrameWanted& frame) const {
    return has_room(paths_[path], frame);
  }
  // The path to `peer` that begins with `link`, or kNoPath.
  PathIndex find(transports::PeerIndex peer, transports::LinkIndex link) const;

  std::span<const PathIndex> of(transports::PeerIndex peer) const;
  std::span<const PathIndex> of(const FrameWanted& frame) const {
    return frame.paths.empty() ? of(frame.peer) : frame.paths;
  }
  Path& at(PathIndex path) { return paths_[path]; }
  const Path& at(PathIndex path) const { return paths_[path]; }
  LinkUse& link_of(PathIndex path) const { return links_[paths_[path].to.first]; }
  size_t size() const { return paths_.size(); }
  bool is_usable(PathIndex path) const {
    return !link_of(path).is_lost && !link_of(path).is_given_up;
  }

  SoundPaths sound(const FrameWanted& frame) const;

  // A frame is put on the path, is acknowledged, or takes another path; to be called for each.
  PathThen put(PathIndex path, uint64_t bytes, double now);
  void delivered(PathIndex path, uint64_t bytes, double now);
  void forget(PathIndex path, uint64_t bytes) { paths_[path].unacked_bytes -= bytes; }
  // How long to wait for the acknowledgement of a frame that is put now; and if a later one was acknowledged and there
  // is another path.
  double resend_after_s(PathIndex path) const;
  double overtaken_after_s(PathIndex path) const;
  // A frame that was put once, at `sent_at`, is acknowledged; after delivered().
  void measured(PathIndex path, const PathThen& then, double sent_at, double now);
  // Frames of the path were given up waiting for, and sent over others.
  void suspect(PathIndex path, double now);
  // A keepalive was.
  void answered(PathIndex path, double now);
  void heard(transports::PeerIndex peer, transports::LinkIndex link, double now);

 private:
  bool is_sound(const Path& path) const {
    return !path.is_suspect && !links_[path.to.first].is_silent;
  }
  bool has_room(const Path& path, const FrameWanted& frame) const;
  double through_s(const Path& path, const FrameWanted& frame) const;
  PathIndex least_busy(const FrameWanted& frame, bool is_of_sound, double within_s) const;
  PathIndex choose_static(const FrameWanted& frame) const;

  std::vector<LinkUse>& links_;
  std::vector<Path> paths_;
  std::vector<std::vector<PathIndex>> of_peer_;
  MoverSettings settings_;
};

}  // namespace crossdock::movers
