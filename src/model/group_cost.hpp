// What a group-by should cost: one formula per strategy, from sizes, caches and measured rates.
//
// Sums over passes of rows times the time a row takes, divided by the workers, like the join's
// (model/join_cost.hpp). What decides is where the states of groups lie: in the second-level cache a
// row is looked up and added for little, further away it is cheaper to sort rows into parts first.
#pragma once

#include <cstdint>

#include "model/machine.hpp"
#include "model/phase_cost.hpp"

namespace crossdock::model {

// Nanoseconds per row and core, measured with 50 M rows of int64 keys and one int64 sum on two Zen 4
// cores. Other machines differ by a factor that is much the same for all strategies, so choices hold
// where absolute times do not.
struct GroupRates {
  double scan_keys = 0.5;     // looking for ranges or order
  double encode = 0.6;        // key words
  double hash = 5.0;          // words of strings, per row
  double lookup = 3.3;        // in a table in the second-level cache
  double lookup_apart = 1.2;  // where no two groups share a place
  double lookup_dense = 0.9;  // in an array there
  double run = 2.0;           // telling a row from its neighbour
  double update = 0.8;        // one accumulator
  double verify = 8.0;        // comparing a row with the first of its group, in cache
  double scatter = 2.4;       // words alone
  double scatter_lane = 1.1;  // each value that goes along
  double insert = 6.0;        // a group that is new to a table
  double merge = 8.0;         // a group of one table into another
  double touch_l3 = 3.0;      // a random access that misses the second-level cache
  double touch_memory = 9.0;  // one that misses all caches
  double emit_word = 2.5;     // 8 bytes of a result row
};

struct GroupShape {
  int64_t rows = 0;
  int64_t groups = 0;  // as far as a sample tells
  int range_bits = 0;  // of the packed keys, if they are dense; 0 = they are not
  int lanes = 1;       // values that go along with a scattered row
  int accumulators = 1;
  int64_t group_bytes = 32;   // of a group in a table: place, word and states
  int64_t state_bytes = 8;    // of its states alone
  double heavy_share = 0;     // rows of keys that are frequent in the sample
  bool hashed = false;        // keys need comparing
  bool packs = true;          // into 64 bits without a look at their ranges
  bool ranges_known = false;  // those of all keys, without a scan
  int output_words = 2;       // 8-byte words of a result row
  int threads = 1;
};

using GroupCost = PredictedCost;

GroupCost table_group_cost(const GroupShape& shape,
                           const Machine& machine,
                           const GroupRates& rates);
GroupCost radix_group_cost(const GroupShape& shape,
                           const Machine& machine,
                           const GroupRates& rates);
GroupCost adaptive_group_cost(const GroupShape& shape,
                              const Machine& machine,
                              const GroupRates& rates);
// Need range_bits > 0: an array per worker, or one per partition.
GroupCost dense_group_cost(const GroupShape& shape,
                           const Machine& machine,
                           const GroupRates& rates);
GroupCost sorted_group_cost(const GroupShape& shape,
                            const Machine& machine,
                            const GroupRates& rates);

// Partition bits that bring the groups of a partition into half of the second-level cache, with room
// for the buffers of the scatter in the other half.
int group_partition_bits(const GroupShape& shape, const Machine& machine);

// Groups that a worker's table may hold within half of its second-level cache.
int64_t cached_groups(const GroupShape& shape, const Machine& machine);

}  // namespace crossdock::model
