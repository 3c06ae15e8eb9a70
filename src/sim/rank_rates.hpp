// What the ranks of a simulated join compute, in seconds: the models' formulas with rates that a caller gives, or with
// those in force on this machine.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "model/machine.hpp"
#include "model/rank_join_cost.hpp"
#include "model/rates.hpp"
#include "model/transfer_cost.hpp"

namespace crossdock::sim {

enum class JoinKind : uint8_t { kHash, kMerge };

// Of one rank.
struct RankRates {
  model::RankJoinRates join;  // rows per second
  int passes = 1;             // of partitioning; the first goes over the network
  int merges = 1;             // of the sort-merge join's runs, each side
  double collective_s = 0;    // a round of a collective; there are log2(ranks)
  double window_s = 0;        // opening memory to the others
  double message_s = 0;       // that a message costs the rank that sends it
  double imbalance_s = 0;     // the last rank's end behind the others, from what is not simulated
  double codec_bytes_per_s = 0;  // of rows, each way; 0: coding takes no time
  // What reading a row that has come takes less than `join` says, since rows became narrower before they left.
  double narrower_s = 0;
  double to_all_s = 0;  // that sending its build rows to all others costs a rank
  // Rows of a sort-merge join leave in no order, and are sorted in cache where they arrive: `join.merge` is then the
  // rate of sorting and matching together.
  bool sorts_what_came = false;
};

struct RankRows {
  double build = 0;
  double probe = 0;
  double all() const { return build + probe; }
};

// A join among ranks that have a core each, such as those of this machine.
struct ModelledJoin {
  JoinKind kind = JoinKind::kHash;
  RankRows rows;  // of a rank
  double build_row_bytes = 16;
  double probe_row_bytes = 16;
  int ranks = 1;
  bool is_broadcast = false;
};

// Rates of the models in force, for joins whose rows go into partitions of the ranks or, of a broadcast, to all of
// them: exchange_cost, and radix_join_cost or merge_join_cost of what has come. Joined rows have the payloads of both.
RankRates rates_of_models(const model::Rates& rates,
                          const model::Machine& machine,
                          const ModelledJoin& join);

// Error kInvalidArgument: a phase of such joins would never end.
Status check_rates(JoinKind kind, const RankRates& rates);

// What a rank does before rows leave, while it arranges those that leave, and after all have come.
struct RankSeconds {
  model::PhaseCost before;
  double arranging_s = 0;
  std::vector<model::PhaseCost> after;
};

RankSeconds rank_seconds(JoinKind kind, const RankRates& rates, RankRows sent, RankRows received);

}  // namespace crossdock::sim
