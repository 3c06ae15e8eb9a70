// Rows of a file whose value of one column no row before them has: all that distinct values and extremes of that column
// need.
#pragma once

#include <vector>

#include "execution/column_filter.hpp"

namespace crossdock::execution {

// Knows the values of a unit of a file by their dictionary codes. Rows of pages without codes all pass, and all rows
// once most have passed: then it costs more than it spares. One worker's own.
class FirstValues {
 public:
  // Another unit begins, of rows of this chunk.
  void open(const scan::ColumnChunk& chunk);
  // Writes those of `rows` that pass to `kept`, which may be where `rows` are.
  Result<StepRows> select(scan::ColumnCursor& cursor, StepRows rows, uint32_t* kept);
  // No row of the unit passes any more.
  bool has_all() const { return values_left_ == 0; }

 private:
  bool all_coded_ = false;  // no page is without codes
  bool has_nulls_ = true;
  std::vector<uint8_t> is_new_;  // by code, and last for a null
  int64_t values_left_ = -1;     // -1: unknown
  int64_t rows_seen_ = 0;        // of all units
  int64_t rows_passed_ = 0;
};

}  // namespace crossdock::execution
