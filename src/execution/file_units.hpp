// Rows that one worker reads of files, and what is asked for of files that lie elsewhere before it does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "memory/budget.hpp"
#include "scan/page_index.hpp"
#include "scan/parquet_table.hpp"
#include "scan/read_ahead.hpp"

namespace crossdock::execution {

// Of a unit of a file that lies elsewhere, few of whose rows are left: what is asked for instead of its row group.
struct UnitPages {
  std::vector<std::vector<scan::PagePlace>>
      places;  // by column, of all pages of the row group; empty: not known
  std::vector<scan::ByteRange> ranges;
};

// Rows of a row group.
struct Unit {
  int file = 0;
  int group = 0;
  int64_t begin = 0;
  int64_t rows = 0;
  int64_t first_row = 0;                   // of all files
  int part = -1;                           // of what is read ahead; -1: of none
  std::shared_ptr<const UnitPages> pages;  // nullptr: the row group is read
};

// By file and row group; empty: all are read.
using ReadRowGroups = std::vector<std::vector<bool>>;

// Row groups in order; cut into parts where they are too few for the workers.
std::vector<Unit> cut_units(const scan::ParquetTable& table,
                            int workers,
                            const ReadRowGroups& is_read);
int64_t row_count(const std::vector<Unit>& units);
void keep_first_rows(std::vector<Unit>& units, int64_t rows);

// For the units that `is_read` says, and columns that are `read`; nullptr: no file lies elsewhere.
std::unique_ptr<scan::ReadAhead> read_ahead_of(const scan::ParquetTable& table,
                                               std::vector<Unit>& units,
                                               const std::vector<bool>& read,
                                               const std::shared_ptr<Memory>& memory,
                                               const std::function<bool(const Unit&)>& is_read);

// The same for the columns of row groups that hold a few rows: asked for at once, as far as memory may be used.
std::unique_ptr<scan::ReadAhead> read_ahead_of_groups(const scan::ParquetTable& table,
                                                      const std::vector<Unit>& groups,
                                                      const std::vector<bool>& read,
                                                      const std::shared_ptr<Memory>& memory);

// A worker reads a unit of the part.
class PartUse {
 public:
  PartUse(scan::ReadAhead* ahead, int part) : ahead_(part < 0 ? nullptr : ahead), part_(part) {
    if (ahead_ != nullptr) ahead_->begin(part_);
  }
  ~PartUse() {
    if (ahead_ != nullptr) ahead_->end(part_);
  }
  PartUse(const PartUse&) = delete;
  PartUse& operator=(const PartUse&) = delete;

 private:
  scan::ReadAhead* const ahead_;
  const int part_;
};

}  // namespace crossdock::execution
