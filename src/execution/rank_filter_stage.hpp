// A semi-join filter over ranks: passes on the rows whose keys may be on the other side of a join, in any rank.
#pragma once

#include <memory>

#include "execution/stage.hpp"
#include "plan/node.hpp"

namespace crossdock::execution {

// `filter`: over the columns of `input`; it must live.
std::unique_ptr<Stage> make_rank_filter_stage(BlockSchema input,
                                              const plan::RankFilter& filter,
                                              int workers);

}  // namespace crossdock::execution
