// Which rows of a row group conditions may hold for, by its page index and Bloom filters.
#pragma once

#include <cstdint>
#include <vector>

#include "execution/column_filter.hpp"
#include "execution/file_units.hpp"

namespace crossdock::execution {

struct RowsLeft {
  struct Run {
    int64_t begin = 0;
    int64_t end = 0;
  };
  std::vector<Run> runs;      // of the row group, ascending; short gaps are part of them
  int64_t pages_skipped = 0;  // of the columns that have conditions
};

// Of the rows of the unit; all of them where the file does not tell.
RowsLeft rows_left(const scan::ParquetTable& table,
                   const Unit& unit,
                   const std::vector<ColumnConditions>& conditions);

// False only where a Bloom filter says that a column lacks every value that a condition wants.
bool filters_pass(const scan::ParquetTable& table,
                  const Unit& unit,
                  const std::vector<ColumnConditions>& conditions);

}  // namespace crossdock::execution
