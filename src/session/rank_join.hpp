// Joins over ranks for those who have a communicator: their first half, which all ranks do together.
#pragma once

#include <string>

#include <crossdock/join.hpp>

#include "base/result.hpp"
#include "data/ranks/communicator.hpp"
#include "operators/hash_join/rank_sides.hpp"

namespace crossdock {

// partition_over_ranks of the engine's threads and memory; the join of what it gives is Join(engine, sides). All ranks
// call it. Errors: those, and CD-101 where an option names a column that is not there, in all ranks.
Result<operators::RankPartition> partition_join(ranks::Communicator& ranks,
                                                const Engine& engine,
                                                const ArrowTable& left,
                                                const ArrowTable& right,
                                                const JoinOptions& options);

// Why the rows of such a join cannot go into the partitions of so many ranks, whatever they are; "" if they may, as far
// as schemas tell. The tables have no rows. Of this rank alone. Errors: those of the options.
Result<std::string> partition_refusal(int ranks,
                                      const Engine& engine,
                                      const ArrowTable& left,
                                      const ArrowTable& right,
                                      const JoinOptions& options);

}  // namespace crossdock
