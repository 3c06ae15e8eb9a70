// How long it takes to move bytes from one endpoint of a channel to another when nothing else moves, and what bounds
// it.
#pragma once

#include <vector>

#include "control/optimizer/channel_plan.hpp"

namespace crossdock::control {

// An edge, by its ends; an end at the network is that vertex of the edge's server.
struct FullEdge {
  topology::Location from;
  topology::Location to;
  double bytes_per_s = 0;

  bool operator==(const FullEdge&) const = default;
};

struct TransferPrediction {
  double seconds = 0;
  double bytes_per_s = 0;  // of all ways together
  double latency_s = 0;    // of the slowest way that carries a share
  // The first edge on each way that the flow fills, each once: to move bytes faster, these must be wider. Empty where
  // no wire is needed.
  std::vector<FullEdge> bottlenecks;
};

// Error kInvalidArgument: as ChannelPlan::ways; a number of bytes that is negative or none.
Result<TransferPrediction> predict_transfer(const ChannelPlan& plan,
                                            topology::Location source,
                                            topology::Location destination,
                                            double bytes);

}  // namespace crossdock::control
