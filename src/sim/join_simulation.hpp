// A join over ranks, simulated at the level of its plan: what each rank computes, and what goes over which link when.
//
// Ranks count their rows, meet, arrange what they send, exchange it by the planner's paths, and join what has come. In
// streaming form rows leave while others are arranged, once the first messages are full; in bulk form each rank
// arranges all of its rows first. With two levels rows go to the rank with the sender's place on the destination's
// server, and from there inside the server.
//
// Memory and time grow with the groups of servers that differ (server_groups.hpp), not with the servers. Pure: the same
// result for the same input, to the last bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/optimizer/channel_plan.hpp"
#include "control/optimizer/exchange_strategy.hpp"
#include "sim/exchange_flows.hpp"
#include "sim/rank_rates.hpp"
#include "sim/server_groups.hpp"

namespace crossdock::sim {

struct JoinTask {
  JoinKind kind = JoinKind::kHash;
  double build_rows = 0;  // of all ranks together
  double probe_rows = 0;
  double build_row_bytes = 16;
  double probe_row_bytes = 16;

  double rows() const { return build_rows + probe_rows; }
  double build_bytes() const { return build_rows * build_row_bytes; }
  double probe_bytes() const { return probe_rows * probe_row_bytes; }
};

struct JoinStrategy {
  control::ExchangeMode mode = control::ExchangeMode::kStreaming;
  control::ExchangeLevels levels = control::ExchangeLevels::kOne;
  control::Distribution distribution = control::Distribution::kRepartition;
  bool single_path = false;
  // A source sends to no more at a time, in the order of servers and their destinations, as libraries for messages do
  // that know nothing of the whole exchange; 0: to all.
  int peers_at_once = 0;
  double coded_share = 1;  // bytes between servers become so many times as many; 1: not coded
};

struct SimulatedMachine {
  int ranks = 1;  // that share each endpoint of the plan
  LinkRates links;
  RankRates rates;
  Unevenness unevenness;
  double segment_bytes = control::ExchangeTask{}.segment_bytes;
  double segments_bytes_max = control::ExchangeTask{}.segments_bytes_max;
};

struct SimulatedPhase {
  std::string name;
  double seconds = 0;
};

struct BusyLink {
  topology::Location from;
  topology::Location to;
  int servers = 1;  // that have such a link
  double bytes_per_s = 0;
  double carried_bytes = 0;
  double busy_s = 0;
};

struct SimulatedJoin {
  double seconds = 0;
  std::vector<SimulatedPhase> phases;  // of the rank that ends last; they add up to the seconds
  double messages_between_servers = 0;
  double messages_inside = 0;
  double bytes_between_servers = 0;
  double bytes_inside = 0;
  double message_bytes = 0;      // of the largest
  double rank_memory_bytes = 0;  // rows of the fullest rank, before and after, and its buffers
  std::vector<BusyLink> links;   // the busiest first
  std::string bound;             // what takes longest, in words
  uint64_t events = 0;
  uint64_t flows = 0;
};

// Errors kInvalidArgument: a size or rate that cannot be; two levels where no server has two endpoints or there is one
// server.
Result<SimulatedJoin> simulate_join(const control::ChannelPlan& plan,
                                    const JoinTask& task,
                                    const JoinStrategy& strategy,
                                    const SimulatedMachine& machine,
                                    Chance& chance);

// What the planner itself would do with such a join.
Result<JoinStrategy> planned_strategy(const control::ChannelPlan& plan, const JoinTask& task);

}  // namespace crossdock::sim
