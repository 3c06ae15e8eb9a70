// Streams of a shuffle, or segments in them, by whether both ends are on one node.
#pragma once

#include <cstdint>

namespace crossdock::channels {

struct MessageCount {
  uint64_t between_nodes = 0;
  uint64_t inside_nodes = 0;

  bool operator==(const MessageCount&) const = default;
};

// Among 64 nodes of 8 endpoints each, all of them source and destination, over relays of the source's rail: 64 x 63
// pairs of nodes times 8 rails, and in each node 8 x 7 pairs.
constexpr MessageCount kMessagesOf64Nodes{.between_nodes = 32'256, .inside_nodes = 3'584};

}  // namespace crossdock::channels
