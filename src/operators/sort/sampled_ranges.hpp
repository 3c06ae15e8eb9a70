// Ranges of key words that share the rows of a sort evenly, as far as a sample tells.
#pragma once

#include "data/sorters/splitters.hpp"
#include "operators/sort/sort_run.hpp"

namespace crossdock::operators {

// Few enough for the buffers of a scatter, and for a range to fit a second-level cache.
sorters::RangeMap sampled_ranges(const SortRun& sort);

}  // namespace crossdock::operators
