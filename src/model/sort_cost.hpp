// What a sort should cost: one formula per strategy, in the form of join_cost.hpp: a sum over passes of
// rows times the time a row takes, divided by the workers. Pure functions.
#pragma once

#include <cstdint>

#include "model/machine.hpp"
#include "model/phase_cost.hpp"

namespace crossdock::model {

// Nanoseconds per row and core, measured on one Zen 4 core with sorts of 20 to 50 M rows. How many rows
// tie behind a word that is not exact is not predicted: a sample does not tell.
struct SortRates {
  double scan_key = 1.5;  // one key column, 8 bytes
  double make_word = 0.5;
  double scan_text = 3.5;  // one text column: lengths and shared bytes
  double make_text_word = 8.0;
  double check_order = 1.0;
  double find_range = 1.0;    // of evenly spread words; a nanosecond more through the table
  double sample_range = 0.4;  // an eighth of the rows, its share of each
  double move_lane = 2.5;     // one lane into some 1,500 ranges by streaming stores
  double move_word = 2.5;     // the same where there is no other lane
  double sort_word = 4.5;     // a range of 32 K rows in cache, values made of the words
  double sort_pair = 6.4;
  double permute_lane = 1.5;
  double count_digit = 0.7;  // one pass of the LSD sort
  double move_digit = 2.8;   // the same, one lane
  double gather = 40.0;      // one column of one row, text, from anywhere in memory
  double gather_near = 2.0;  // the same within the caches
  double hand_out =
      40.0;  // as gather, in the order that digits made: of any column, mostly numbers
  double hand_out_near = 2.0;
  double select = 0.5;   // testing a word against a bound
  double keep = 10.0;    // a row that passes the bound, its share of the selections included
  double compare = 5.0;  // two selected rows with exact words
  double pass_through = 0.01;
};

struct SortShape {
  int64_t rows = 0;
  int64_t wanted_rows = 0;  // rows of the result and before it
  int keys = 1;
  int text_keys = 0;
  int word_bits = 64;
  bool is_exact = true;
  int lanes = 1;            // words included
  bool is_sampled = false;  // ranges get their memory by a sample, not by counting
  int gathered = 0;         // columns fetched by reference
  int columns = 1;          // of the result
  int digit_bits = 11;
  int64_t input_bytes = 0;  // of the gathered columns
  int threads = 1;
};

using SortCost = PredictedCost;

SortCost presorted_cost(const SortShape& shape, const SortRates& rates);
SortCost msd_sort_cost(const SortShape& shape, const Machine& machine, const SortRates& rates);
SortCost lsd_sort_cost(const SortShape& shape, const Machine& machine, const SortRates& rates);
// Needs wanted_rows of the order only.
SortCost topk_cost(const SortShape& shape, const Machine& machine, const SortRates& rates);

}  // namespace crossdock::model
