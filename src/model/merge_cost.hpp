// What a merge join should cost, in the form of join_cost.hpp: passes of rows times the time a row takes.
//
// Barthels et al. (PVLDB 10(5), section 3.2.3) add range partition, sort, merge and match. Here a side
// that is sorted skips the first two, and there is nothing to merge. Pure functions.
#pragma once

#include "model/join_cost.hpp"

namespace crossdock::model {

// Nanoseconds per row and core, measured on one Zen 4 core.
struct MergeRates {
  double check_order = 0.7;
  double scan_ranges = 1.5;  // keys of several columns, and strings
  double encode_wide = 2.0;  // their words, beyond what one integer costs
  double find_range = 1.0;   // beyond JoinRates::scatter
  double sort_pair = 6.0;    // in cache, loading included
  double sort_word = 4.0;    // words without a carried lane
  double read_sorted = 1.2;  // words and carried values of a sorted side
  double match = 1.0;
  double rank_tie = 30.0;  // comparing rows whose words do not tell all
};

struct MergeShape {
  int64_t rows[2] = {0, 0};  // left, right
  bool sorted[2] = {false, false};
  bool checked[2] = {false, false};  // sorted ones: whether a scan of their order comes first
  bool carries = true;
  bool one_word = true;      // one integer-like key column
  bool exact = true;         // words tell all keys apart
  bool partitioned = false;  // rows lie in ranges already, and their words are made
  int output_words = 0;      // 8-byte words of an output row; 0 = counted only
  int gathered[2] = {0, 0};  // output columns fetched by reference
  int threads = 1;
};

JoinCost merge_join_cost(const MergeShape& shape,
                         const Machine& machine,
                         const JoinRates& rates,
                         const MergeRates& merge);

// Ranges that bring the rows of both sides and the sort's scratch into half a second-level cache.
int merge_range_count(int64_t rows, const Machine& machine);
constexpr int kMergeRangesMax = 2047;  // and as many for heavy words: the partitions of one scatter

}  // namespace crossdock::model
