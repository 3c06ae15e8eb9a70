// Leaves out rows that are not among the first of their partition, before a window sorts the others.
#pragma once

#include "operators/run/operator_run.hpp"
#include "operators/window/window_spec.hpp"
#include "table/column.hpp"

namespace crossdock::operators {

// Of the table's rows at least the first spec.first_rows of each partition, and all that are equal to these, as they
// came; the table itself where partitions are of keys that no word holds, or where little can be left out. Each worker
// keeps the best words of as many partitions as 8 MiB have room for; rows of the others pass. Some 5 to 20 ns per row
// and worker. Errors: kOutOfMemoryBudget, kCancelled.
Result<TablePtr> possible_first_rows(OperatorRun& run, const WindowSpec& spec, TablePtr table);

}  // namespace crossdock::operators
