// The rows of CSV files as the source of a pipeline: chunks in turns, of which the columns are converted that are used.
#pragma once

#include <memory>
#include <string>

#include "execution/pipeline.hpp"
#include "memory/budget.hpp"
#include "scan/csv_table.hpp"

namespace crossdock::execution {

struct CsvSourceOptions {
  std::shared_ptr<const scan::CsvTable> table;
  std::string name;
  int workers = 1;
  std::shared_ptr<Memory> memory;
};

// Errors while it runs: kSourceFailed, with file and line; kOutOfMemoryBudget.
Chain csv_chain(CsvSourceOptions options);

}  // namespace crossdock::execution
