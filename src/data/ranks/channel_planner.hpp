// Who says which wires the channels of a group use: a control plane that the group's ranks met through.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "topology/graph.hpp"
#include "topology/paths.hpp"

namespace crossdock::ranks {

// Ranks that send and that receive; ascending, each once.
struct ChannelEnds {
  std::vector<int> sources;
  std::vector<int> destinations;
};

// What this rank has to know of a plan.
struct PlannedChannel {
  std::string name;  // "e7f3a1c2-12", by which the control plane knows it
  std::shared_ptr<const topology::ServerShape>
      server;                                     // the rank's; null: it has no end of the channel
  std::vector<topology::ForwardingTable> tables;  // of the server's vertices
  // Destinations on other servers, by rank, as the tables name them.
  std::map<int, topology::DestinationKey> destinations;
};

class ChannelPlanner {
 public:
  virtual ~ChannelPlanner() = default;
  // All ranks of the group call it alike, between two gathers. Errors of the control plane (CD-602, CD-611, CD-614)
  // are those of all ranks, but for one's own part, which only the rank itself may miss.
  virtual Result<PlannedChannel> plan(const ChannelEnds& ends,
                                      std::chrono::milliseconds at_most) = 0;
  // The plan is needed no longer; the rank that asked for it says so to the control plane, and waits for no answer.
  // Any thread. A plan may be gone before all ranks are through: rows go on by the paths that they have.
  virtual void end(const std::string& name) = 0;
};

}  // namespace crossdock::ranks
