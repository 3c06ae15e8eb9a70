// Endpoints by node, and which of them take in what is for others of their node.
//
// One level: every source sends to every destination. Two levels: a source sends to one destination of each node, of
// its own rail (the same place among the endpoints of its node), which hands rows on inside the node. So a network of
// M nodes with N endpoints each carries N M (M - 1) streams instead of N times as many, and each is N times as thick
// (joins on a thousand GPUs, two-level communication).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace crossdock::channels {

// Which node each source and each destination of a channel is on; nodes are any numbers.
struct NodePlacement {
  std::vector<int> of_source;
  std::vector<int> of_destination;
};

// Immutable.
class LevelPlan {
 public:
  // CD-105: no destination at all, or more than 65,536.
  static Result<LevelPlan> make(const NodePlacement& placement);

  // The destination that takes in for `destination` what `source` sends: on the destination's node, of the source's
  // rail.
  uint16_t relay(int source, int destination) const {
    const auto& node = nodes_[node_of_destination_[destination]];
    return node[rail_of_source_[source] % node.size()];
  }
  // First level: the relays of a source, one per node, ascending.
  std::vector<uint16_t> relays_of(int source) const;
  // Second level: the destinations of a relay's node, ascending.
  const std::vector<uint16_t>& beside(int relay) const {
    return nodes_[node_of_destination_[relay]];
  }

 private:
  std::vector<uint32_t> rail_of_source_;       // its place among the sources of its node
  std::vector<uint32_t> node_of_destination_;  // index into nodes_
  std::vector<std::vector<uint16_t>> nodes_;   // destinations, ascending
};

}  // namespace crossdock::channels
