// Rows that are counted and not read.
#pragma once

#include "execution/pipeline.hpp"

namespace crossdock::execution {

// The number of rows of a chain, within its limit. An operator may know it without making them.
Result<int64_t> count_rows(operators::OperatorRun& run, Chain& chain, Meters* meters);

}  // namespace crossdock::execution
