// What a join over many ranks should cost, by the formulas of Barthels et al. ("Distributed Join Algorithms on
// Thousands of Cores", PVLDB 10(5), 2017, section 3), and by what their measurements need beyond them.
//
// A term is rows over (ranks x rate). The formulas are lower bounds: windows, puts that are not hidden and ranks that
// wait for others are terms of their own here, which the paper measures and does not predict. Pure functions.
#pragma once

#include "model/phase_cost.hpp"

namespace crossdock::model {

// Rows per second of one process, alone in its pass. The names are those of the paper's equations.
struct RankJoinRates {
  double scan = 225e6;
  double partition = 120e6;
  double build = 120e6;
  double probe = 225e6;
  double sort_run = 75e6;
  double merge = 45e6;
};

// The links of a node, which its processes share (equations 3 and 10).
struct NodeLinks {
  double bytes_per_s = 0;  // one direction
  int processes = 1;       // that send at the same time
  int row_bytes = 8;       // on the wire
};

struct RankJoinShape {
  double inner_rows = 0;  // of all ranks together
  double outer_rows = 0;
  int ranks = 1;
  int passes = 2;        // of the hash join's partitioning; the first goes over the network
  int inner_merges = 1;  // of the sort-merge join: passes of m-way merging
  int outer_merges = 1;

  double rows() const { return inner_rows + outer_rows; }
};

// What the equations leave out, for one process.
struct RankOverheads {
  double window_s = 0;  // opening windows, which registers their memory
  // Handing a row to the network and waiting for it, where that is not hidden.
  double put_row_s = 0;
  double imbalance_s = 0;  // the last rank's end behind the ranks' mean
};

// Equations 3 and 10: rows per second of a process that computes at `rate` while the node's links carry what it sends.
double network_rate(double rate, const NodeLinks& links);

// Equations 1 to 7. Phases: histogram, network partition, local partition, build, probe; with overheads window and put
// and flush before the local ones, and imbalance at the end.
PredictedCost rank_hash_join_cost(const RankJoinShape& shape,
                                  const RankJoinRates& rates,
                                  const NodeLinks& links,
                                  const RankOverheads& overheads);

// Equations 8 to 15. Phases: partition, sort, merge, match; with overheads window, put and flush, imbalance.
PredictedCost rank_merge_join_cost(const RankJoinShape& shape,
                                   const RankJoinRates& rates,
                                   const NodeLinks& links,
                                   const RankOverheads& overheads);

}  // namespace crossdock::model
