// An exchange over links that become slow, or are lost, while it runs.
//
// Follows what movers do (src/data/movers), segment by segment: a lost link's segments that were not acknowledged go
// again over the other paths of their pair, and a server that has a segment already drops it. A pair without a path
// left is cut, with the link that cut it as the cause; its bytes are counted and not delivered. Every server stands
// alone, so this is for worlds of a few servers; flows are those of the planner's paths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/chance.hpp"
#include "control/optimizer/channel_plan.hpp"
#include "sim/exchange_flows.hpp"

namespace crossdock::sim {

struct LinkFault {
  double at_s = 0;
  LinkNumber link = 0;
  double share = 0;  // of its rate from then on; 0: lost for good
};

struct FaultyTask {
  double bytes_per_source = 0;
  double segment_bytes = 0;
  int window = 0;              // segments of a flow that are sent and not acknowledged, at most
  std::vector<double> late_s;  // per server, when its sources begin; those left out begin at once
  std::vector<LinkFault> faults;
};

// Segments, of all pairs together.
struct FaultyExchange {
  double seconds = 0;  // until the last segment is there, or is known not to come
  int64_t segments = 0;
  int64_t delivered = 0;    // to a destination, each once
  int64_t repeated = 0;     // arrived again, and were dropped
  int64_t undelivered = 0;  // of pairs that were cut
  int64_t waiting = 0;      // neither: must be 0
  int cut_pairs = 0;
  std::vector<std::string> causes;  // of cut pairs, each once
  uint64_t events = 0;
};

// Links of all servers in a row, in the order of their shapes' edges: what LinkFault::link counts.
LinkNumber fault_link_count(const control::ChannelPlan& plan);

FaultyExchange exchange_with_faults(const control::ChannelPlan& plan, const FaultyTask& task);

// Faults, late servers and a server that dies, by chance; `about_s` is how long the exchange takes without.
FaultyTask chance_faults(const control::ChannelPlan& plan, double about_s, Chance& chance);

}  // namespace crossdock::sim
