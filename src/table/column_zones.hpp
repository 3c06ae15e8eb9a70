// The ranges of a column's values in every 2^14 rows of a table in memory: by them a scan leaves rows out.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "table/column.hpp"
#include "table/value_range.hpp"

namespace crossdock {

constexpr int64_t kZoneRows = int64_t{1} << 14;

// By number of its first row in the table, each batch of a table. The batches must outlive it.
class RowsInBatches {
 public:
  explicit RowsInBatches(const std::vector<Batch>& batches);
  // `batch`: one of them.
  int64_t first_row(const Batch& batch) const {
    return first_rows_[static_cast<size_t>(&batch - batches_->data())];
  }
  // The range of rows [begin, end) of a column.
  ValueRange range(int column, int64_t begin, int64_t end) const;

 private:
  const std::vector<Batch>* batches_;
  std::vector<int64_t> first_rows_;
};

// Of one column. The range of a zone is worked out when it is first asked for, and then kept: the scan that asks reads
// the rows next, unless it leaves them out. Thread-safe.
class ColumnZones {
 public:
  // Whether columns of this type have zones: numbers but floats, and instants.
  static bool can_be_of(const DataType& type);

  // `rows`: of the table.
  explicit ColumnZones(int64_t rows) : rows_(rows) {}

  // Whether neighbouring rows have values close to each other, by some zones. Of other columns hardly a zone would ever
  // be left out. `batches`, `column`: where the column lies; each time the same values.
  bool are_narrow(const RowsInBatches& batches, int column);
  // Of rows [number * kZoneRows, (number + 1) * kZoneRows). Only where they are narrow.
  ValueRange range(const RowsInBatches& batches, int column, int64_t number);

 private:
  struct Zone {
    std::atomic<bool> is_known{false};
    ValueRange range;
  };
  bool look(const RowsInBatches& batches, int column);

  const int64_t rows_;
  std::once_flag looked_;
  bool are_narrow_ = false;
  std::unique_ptr<Zone[]> zones_;
  std::mutex mutex_;  // to write a zone
};

// Gives the columns of a table zones of which no range is known yet.
void add_zones(Table& table);
TablePtr with_new_zones(const Table& table);

}  // namespace crossdock
