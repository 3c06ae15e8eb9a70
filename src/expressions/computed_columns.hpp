// Tables with computed columns: every output of a program written out as a column of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/team.hpp"
#include "expressions/program.hpp"
#include "memory/budget.hpp"
#include "table/column.hpp"

namespace crossdock::expressions {

struct ComputedColumns {
  std::shared_ptr<const Program> program;
  std::vector<std::string> names;  // one per output of the program
};

// The columns of the table, unchanged and shared, and the computed ones behind them.
// Rows that the filters drop stay, with anything in their computed columns. The team's workers take
// turns over pieces of batches. Errors: kDuplicateColumn, kExpressionFailed, kOutOfMemoryBudget,
// kCancelled.
Result<TablePtr> with_computed_columns(const Table& table,
                                       const ComputedColumns& columns,
                                       Team& team,
                                       Memory& memory,
                                       const CancelFlag& cancel);

// The table with places for the computed columns that have no memory: for operators that compute them
// while they read the others. A place has a validity exactly where the column may have nulls.
TablePtr with_places(const Table& table, const ComputedColumns& columns);

}  // namespace crossdock::expressions
