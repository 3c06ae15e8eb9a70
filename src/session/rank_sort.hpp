// Sorts over ranks for those who have a communicator.
#pragma once

#include <crossdock/sort.hpp>

#include "base/result.hpp"
#include "data/ranks/communicator.hpp"
#include "table/column.hpp"

namespace crossdock {

// sort_over_ranks of the engine's threads and memory: the rows of this rank, in order. All ranks call it. Errors:
// those, and CD-101 where an option names a column that is not there, in all ranks.
Result<TablePtr> sort_rows(ranks::Communicator& ranks,
                           const Engine& engine,
                           const ArrowTable& rows,
                           const SortOptions& options);

}  // namespace crossdock
