// Partition numbers from ranges of keys.
#pragma once

#include <memory>

#include "operators/partition/row_numberer.hpp"

namespace crossdock::operators {

// Cuts the order of the keys into ranges of about equal numbers of rows, by a sample of the keys.
// Equal keys never part; keys that differ do, however late they differ: rows whose word is that of a
// splitter are compared with it. Errors: those of the run.
Result<std::unique_ptr<RowNumberer>> make_range_numberer(const PartitionSpec& spec,
                                                         const RowStore& store,
                                                         OperatorRun& run);

}  // namespace crossdock::operators
