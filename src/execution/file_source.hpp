// The rows of Parquet files as the source of a pipeline: row groups, or parts of large ones, in turns; each read in
// steps that stay in the cache, of which only the rows are decoded that pass the conditions on single columns.
#pragma once

#include <memory>
#include <string>

#include "execution/file_units.hpp"
#include "execution/pipeline.hpp"
#include "memory/budget.hpp"
#include "scan/parquet_table.hpp"

namespace crossdock::execution {

struct FileSourceOptions {
  std::shared_ptr<const scan::ParquetTable> table;
  std::string name;
  int workers = 1;
  std::shared_ptr<Memory> memory;
  ReadRowGroups is_read{};
};

// Errors, also while it runs: kSourceFailed, kOutOfMemoryBudget.
Result<Chain> file_chain(FileSourceOptions options);

}  // namespace crossdock::execution
