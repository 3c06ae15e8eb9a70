// How long an exchange takes on the links that a channel may use: every source sends the same number of bytes to every
// destination, and the bytes of a pair may be split over its paths.
//
// The best split is a linear program (maximum concurrent flow). Here shares of each pair are put, one by one, where
// they cost least, and moved again for a few rounds; cost grows with the eighth power of a link's load, so that the
// fullest link counts most. It is what a data plane that looks at queues comes to, and no exact optimum.
#pragma once

#include <vector>

#include "control/optimizer/channel_plan.hpp"

namespace crossdock::control {

// The fullest link, and what it means for the whole exchange.
struct ExchangeLoad {
  double seconds_per_byte =
      0;  // per byte that every source sends to every destination other than itself
  topology::Location from;  // the edge that is full first
  topology::Location to;
  double edge_bytes_per_s = 0;         // its capacity
  double inside_seconds_per_byte = 0;  // the same, of bytes between endpoints of one server alone
  // The same of every edge of the server of `from`, in the order of its shape's edges.
  std::vector<double> edge_seconds_per_byte;
};

// O(different server plans x pairs in a server). All zero for a channel from one vertex to itself.
ExchangeLoad exchange_load(const ChannelPlan& plan);

// How the same exchange spreads its bytes: for each set of paths in a ServerPlan, in its order, the part of a pair's
// bytes that takes each path. They add up to 1; no parts where a pair needs no wire.
struct ExchangeShares {
  std::vector<std::vector<double>> inside;
  std::vector<std::vector<double>> to_network;
  std::vector<std::vector<double>> from_network;
};

// What a source sends to a destination at the same time: to one on its server, and to one on any other.
struct PairBytes {
  double inside = 1;
  double remote = 1;
};

// Of plan.servers()[server], and of all that share its ServerPlan; pairs without bytes take their first path.
// O(pairs in a server).
ExchangeShares exchange_shares(const ChannelPlan& plan, int server, const PairBytes& bytes);

}  // namespace crossdock::control
