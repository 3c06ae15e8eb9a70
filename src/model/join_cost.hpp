// What a hash join should cost: one formula per strategy, from sizes, caches and measured rates.
//
// The form is that of Barthels et al. (PVLDB 10(5), section 3.1): a sum over passes of rows divided by
// the rate of the pass. Beyond it: the rates of a pass depend on where its random accesses land (which
// cache a table fits), and columns of the output are charged by width. Pure functions.
#pragma once

#include <cstdint>

#include "model/machine.hpp"
#include "model/phase_cost.hpp"

namespace crossdock::model {

// Nanoseconds per row and core, measured by bench/join on one Zen 4 core (see bench/README.md). Other
// machines differ by a factor that is the same for all strategies, to a first approximation, so
// choices hold where absolute times do not.
struct JoinRates {
  double scan_keys = 0.4;
  double scatter = 4.5;         // encode and scatter, 16-byte rows
  double scatter_narrow = 3.0;  // words without a carried lane
  double build_leaf = 5.5;
  double probe_leaf = 5.0;
  double probe_dense = 1.2;  // array in cache, or keys in order
  double build_dense = 2.5;
  double probe_direct = 4.0;    // table in the second-level cache
  double hash_string = 5.0;     // hashing a row's strings
  double name_string = 10.0;    // finding the number of a row's string
  double verify = 8.0;          // comparing the keys of a candidate pair, in cache
  double verify_l3 = 3.0;       // and each place of it that misses L2
  double verify_memory = 9.0;   // and all caches
  double touch_l3 = 3.0;        // one random access that misses L2, overlapped with others
  double touch_memory = 9.0;    // one that misses all caches
  double touch_array_l3 = 3.0;  // the same of an array of keys, and of what it leads to
  double touch_array_memory = 9.0;
  double emit_word = 0.8;  // 8 bytes of an output row, in order
  double fetch_l3 =
      3.0;  // a value fetched by reference: others are under way, nothing waits for it
  double fetch_memory = 9.0;  // from beyond the caches
};

struct JoinShape {
  int64_t build_rows = 0;
  int64_t probe_rows = 0;
  int range_bits = 0;            // of the build keys; 0 = not dense
  bool probe_clustered = false;  // neighbours in the probe side have near keys
  bool build_unique = false;     // as far as a sample tells
  bool build_carries = true;
  bool probe_carries = true;
  bool hashed = false;       // keys need verification
  bool named = false;        // strings are named by numbers
  bool partitioned = false;  // both sides lie in partitions already; radix joins only
  int output_words = 0;      // 8-byte words of an output row; 0 = counted only
  int gathered_build = 0;    // output columns fetched by reference, by side
  int gathered_probe = 0;
  int threads = 1;
};

using JoinCost = PredictedCost;

JoinCost radix_join_cost(const JoinShape& shape, const Machine& machine, const JoinRates& rates);
JoinCost direct_join_cost(const JoinShape& shape, const Machine& machine, const JoinRates& rates);
// Needs range_bits > 0.
JoinCost dense_join_cost(const JoinShape& shape, const Machine& machine, const JoinRates& rates);

// Partition bits that bring a leaf (segments, table and directory of one partition) into the
// second-level cache, within what the scatter's buffers leave of it.
int radix_bits(int64_t build_rows, const Machine& machine);

}  // namespace crossdock::model
