// How many rows the nodes of a plan may have, before anything runs.
#pragma once

#include "execution/rules.hpp"
#include "operators/run/operator.hpp"
#include "plan/node.hpp"

namespace crossdock::execution {

// "operators" as a profile has them, with "rows_expected". Conditions on tables in memory, and how many different
// values their columns have, are estimated from samples of at most 16,384 rows; conditions on files by constants.
// Operators that work on tables have their "plan", with what their phases should take.
operators::Facts estimated_facts(const plan::Node& root,
                                 const operators::RunEnvironment& environment,
                                 const Rules& rules);

}  // namespace crossdock::execution
