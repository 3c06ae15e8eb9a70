// The endpoints of a channel, put together: servers that a simulation cannot tell apart are one group.
//
// Flows among alike servers have alike shares, so the links of one of them stand for those of all. A server that is
// slow, whose links are slow, or that gets more rows than others is a group of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/chance.hpp"
#include "control/optimizer/channel_plan.hpp"

namespace crossdock::sim {

struct ServerGroup {
  int server = 0;  // place of the first among ChannelPlan::servers()
  int servers = 1;
  double slowness = 1;    // what its ranks compute takes so many times as long
  double link_share = 1;  // of the rates of all its links
  // Per destination of the server: the part of all rows that goes there. Of all groups times servers: 1.
  std::vector<double> row_shares;
};

// What is not alike.
struct Unevenness {
  // Rows whose keys follow Zipf's law with this theta, of so many keys; 0: all destinations get as many.
  double zipf_theta = 0;
  int64_t keys = 0;
  double skewed_share = 1;  // of all rows, those that follow it: the outer side
  int slow_servers = 0;     // by chance
  double slowness = 1;
  int slow_links = 0;  // servers whose links have `link_share` of their rates, by chance
  double link_share = 1;
};

// The most groups of one server each. Rows that frequent keys bring to further servers are spread over all.
inline constexpr int kSingleServersMax = 8;

// Frequent keys fall on destinations by chance, as a hash would have it.
std::vector<ServerGroup> group_servers(const control::ChannelPlan& plan,
                                       const Unevenness& unevenness,
                                       Chance& chance);

}  // namespace crossdock::sim
