// Joins over ranks for those who have a communicator: their first half, which all ranks do together.
#pragma once

#include <crossdock/join.hpp>

#include "base/result.hpp"
#include "data/ranks/communicator.hpp"
#include "operators/hash_join/rank_sides.hpp"

namespace crossdock {

// partition_over_ranks of the engine's threads and memory; the join of what it gives is Join(engine, sides). All ranks
// call it. Errors: those, and CD-101 where an option names a column that is not there, in all ranks.
Result<RankPartition> partition_join(Communicator& ranks,
                                     const Engine& engine,
                                     const ArrowTable& left,
                                     const ArrowTable& right,
                                     const JoinOptions& options);

}  // namespace crossdock
