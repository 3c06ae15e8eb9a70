// A semi-join filter: passes on the rows whose key may be in the build side of a join that stands further down.
#pragma once

#include <memory>

#include "execution/join_table.hpp"
#include "execution/stage.hpp"

namespace crossdock::execution {

// `input`: of the blocks that come; its columns are those of the join's probe side. Rows that pass may have no partner
// after all, rows that do not pass have none.
std::unique_ptr<Stage> make_key_filter_stage(BlockSchema input,
                                             std::shared_ptr<const JoinTable> table,
                                             int workers);

}  // namespace crossdock::execution
