// What footers of files promise of the values of a column.
#pragma once

#include <optional>

#include "operators/hash_join/key_plan.hpp"
#include "scan/parquet_table.hpp"
#include "table/column.hpp"

namespace crossdock::execution {

// What the footers promise of a column, and steps are held against.
struct Promise {
  bool no_nulls = false;
  std::optional<operators::KeyRange> range;
};

Promise promise_of(const scan::ParquetTable& table, int column);
bool is_kept(const Promise& promise, const ColumnView& column, const DataType& type);

}  // namespace crossdock::execution
