// What a partitioning should cost: a sum over passes of rows times the time a row takes, divided by the
// workers, in the form of join_cost.hpp. Pure functions.
#pragma once

#include <cstdint>

#include "model/machine.hpp"
#include "model/phase_cost.hpp"

namespace crossdock::model {

// Nanoseconds per row and core, measured on one Zen 4 core: those of tables that miss the caches with
// 10 M rows into 2 to 8,192 partitions, the near ones with 60,000 rows. Strings had 12 bytes.
struct PartitionRates {
  double scan_key = 1.5;  // one key column, looking for its range
  double scan_text = 5.5;
  double count = 1.0;  // telling a partition from a hash or a word, and counting it
  double hash_key = 1.5;
  double hash_text = 6.0;
  double load_number = 0.5;
  double make_word = 2.0;
  double make_text_word = 11.0;
  double find_range = 2.1;
  double place = 2.0;  // a reference, into up to 64 partitions
  double place_near = 1.0;
  double place_doubling = 0.7;  // more for each doubling of partitions beyond 64
  double gather = 14.0;        // one column of one row, from another cache line than the row before
  double gather_stream = 3.0;  // at least that, where neighbours share a line
  double gather_near = 1.2;    // in the caches
  double gather_text = 60.0;
  double gather_text_near = 5.0;
};

struct PartitionShape {
  enum class By : uint8_t { kHash, kRange, kExplicit };

  By by = By::kHash;
  int64_t rows = 0;
  int64_t table_bytes = 0;
  int partitions = 1;
  int keys = 1;
  int text_keys = 0;
  int columns = 1;       // of the result
  int text_columns = 0;  // whose bytes are copied
  int threads = 1;
};

PredictedCost partition_cost(const PartitionShape& shape,
                             const Machine& machine,
                             const PartitionRates& rates);

}  // namespace crossdock::model
