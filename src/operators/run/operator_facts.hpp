// Plans and runs of operators as facts, for `explain` and profiles.
#pragma once

#include "operators/run/operator.hpp"

namespace crossdock::operators {

// "operator", the facts of the plan, "phases" with name, rows, bytes and predicted_s, and "considered".
Facts plan_facts(const OperatorPlan& plan);

// The same with what a run has measured: phases in the order in which they ran, with measured_s, then those that were
// predicted and did not run; facts of the run in the place of those of the plan; result_rows and total_s.
Facts run_facts(const OperatorPlan& plan, const RunProfile& profile);

}  // namespace crossdock::operators
