// What the plugin "pmix" offers: the group of the processes that mpirun or srun started together.
#pragma once

#include "data/ranks/rank_group.hpp"

namespace crossdock::ranks {

// The type of its symbol crossdock_join_pmix. Null with *error if PMIx does not answer.
using JoinPmix = RankGroup*(Error* error);

}  // namespace crossdock::ranks
