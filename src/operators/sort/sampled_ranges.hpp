// Ranges of key words that share the rows of a sort evenly, as far as a sample tells.
#pragma once

#include "data/sorters/splitters.hpp"
#include "operators/sort/sort_run.hpp"

namespace crossdock {

// Few enough for the buffers of a scatter, and for a range to fit a second-level cache.
RangeMap sampled_ranges(const SortRun& sort);

// A generator for the positions of samples: splitmix64.
uint64_t next_random(uint64_t& state);

}  // namespace crossdock
