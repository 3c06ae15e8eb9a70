// What moves flows between the hosts of a group: the transports that their processes share, and a mover over them.
//
// Ranks that share no network are joined by others that have links to both (RankReach): these pass frames on in their
// own process, whether they have an end on the channel or not. Between linked ranks there are no such detours.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/channels/channel_core.hpp"
#include "data/channels/data_plane.hpp"
#include "data/channels/rank_reach.hpp"
#include "data/movers/mover.hpp"
#include "data/ranks/channel_planner.hpp"
#include "data/ranks/rank_group.hpp"
#include "data/transports/link.hpp"

namespace crossdock::channels {

// Which of the transports in DataPlaneSettings are wanted. CD-105 names one that there is none of.
struct TransportChoice {
  bool shm = false;
  bool tcp = false;
  bool ucx = false;

  static Result<TransportChoice> parse(const std::string& names);
  bool joins_hosts() const { return tcp || ucx; }
  std::string text() const;  // which parse() takes
};

class HostLinks {
 public:
  // As Mover tells them.
  struct Events {
    std::function<void(uint64_t channel, const Error& cause)> on_failure;
    std::function<void(transports::PeerIndex rank, const Error& cause)> on_lost_rank;
  };

  // Connects to the ranks of other hosts. All ranks of the group call it. CD-602: two ranks that
  // nothing joins; errors of agree() and of the transport.
  static Result<std::unique_ptr<HostLinks>> open(ranks::RankGroup& group,
                                                 const DataPlaneSettings& settings,
                                                 const std::vector<int>& host_of_rank,
                                                 Events events);

  movers::Mover& mover() { return *mover_; }
  // CD-105: segments that are too long to be passed on between ranks that need it.
  Status check(const ChannelLayout& plan) const;
  // Whether there are links between all ranks of different hosts.
  bool are_all_linked() const { return reach_.is_complete(); }
  // Whether others speak through this rank: then it is not through before they are.
  bool is_relay() const { return is_relay_; }
  // Frames and notes of others so far. Any thread.
  uint64_t passed_on() const;
  // Of each peer for which there is a plan, the paths that flows to it may use.
  using PathsOfPeers = std::map<transports::PeerIndex, std::vector<movers::PathIndex>>;
  // CD-602: the plan leads over a device that has no link to a peer.
  Result<PathsOfPeers> planned_paths(const ranks::PlannedChannel& planned) const;
  // The flows of a part whose other ends are on other hosts. Peers that `paths` does not name are reached by all there
  // are.
  void add_flows(ChannelCore& core, const PartMemory& memory, const PathsOfPeers& paths);
  // One turn: moves what can be moved, or sleeps until something happens or one of the descriptors is readable.
  void turn(std::span<const int> also_fds);

 private:
  HostLinks(RankReach reach, int rank)
      : rank_(rank), reach_(std::move(reach)), is_relay_(reach_.may_relay(rank)) {}

  const int rank_;
  const RankReach reach_;
  const bool is_relay_;
  movers::MoverSettings settings_;
  std::vector<movers::PathTo> paths_;
  std::unique_ptr<movers::Mover>
      mover_;  // keeps what links still read and write, so it goes after them
  std::unique_ptr<transports::Transport> transport_;
};

}  // namespace crossdock::channels
