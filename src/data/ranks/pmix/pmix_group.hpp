// Ranks that PMIx has started: the text of a round is put under the round's name, and a fence carries it to all.
#pragma once

#include <memory>

#include "data/ranks/rank_group.hpp"

namespace crossdock::ranks {

// Initialises PMIx, which counts: an MPI in the same process is not disturbed. CD-105 if no server answers.
Result<std::unique_ptr<RankGroup>> join_pmix_server();

}  // namespace crossdock::ranks
