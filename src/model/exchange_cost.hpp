// What an exchange of rows among ranks should cost, in bulk: counts first, then every row straight into its place.
//
// The first pass of Barthels et al. (PVLDB 10(5), section 3.1) with what they measure beside it: windows,
// puts, flushes, and ranks that wait for others. Distributed operators are this and the operators of one rank.
// Pure functions.
#pragma once

#include "model/phase_cost.hpp"

namespace crossdock::model {

// Nanoseconds per row, byte or event, of one core. Estimates, for ranks that share memory: no exchange has been timed
// to fit them. `crossdock calibrate` scales them with the other rates, by how fast the machine is.
struct ExchangeRates {
  double count_row = 2.5;    // telling the rank of a row from its keys, and counting it
  double place_row = 3.0;    // to its place among the rows for its rank
  double place_byte = 0.25;  // of a row's columns, read and written
  double part_count =
      1.0;  // of joins whose rows go into partitions: as count_row, mostly of a sample
  double part_row = 6.0;          // and as place_row, of the two words of a row
  double cut_row = 6.0;           // of sorts: finding which rank a row goes to
  double put_byte = 0.17;         // to another rank of the same node
  double put_message = 3000.0;    // one put and its share of a flush
  double window_byte = 0.12;      // memory that is written for the first time
  double window_open = 200e3;     // a window, whatever its size
  double collective = 30e3;       // one round of a collective operation
  double imbalance_share = 0.04;  // of the whole: the last rank behind the mean
};

struct ExchangeShape {
  double rows = 0;         // of all ranks together
  double row_bytes = 16;   // in place
  double wire_bytes = 16;  // of a row as it travels: less where columns are packed
  int ranks = 1;
  int ranks_per_node = 1;
  int cores_per_node = 1;  // more ranks than cores take turns
  double message_bytes = 1 << 20;
  double node_bytes_per_s = 0;   // of a node's links, one direction; 0 = ranks are on one node
  bool into_partitions = false;  // rows go as two words into partitions, not as columns
  bool by_order = false;         // rows go where the order of all ranks' rows says
  double busiest_share = 0;      // of the rows, at the rank that gets most; 0 = all get the same
};

// Phases: cut if by order, histogram, window, network partition, imbalance.
PredictedCost exchange_cost(const ExchangeShape& shape, const ExchangeRates& rates);

}  // namespace crossdock::model
