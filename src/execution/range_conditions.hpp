// Conditions on pairs of rows that the order of values decides: `trips.start <= pings.at and pings.at < trips.stop`.
#pragma once

#include <vector>

#include "expressions/expression.hpp"
#include "operators/hash_join/join_spec.hpp"

namespace crossdock::execution {

// One comparison of a value of each side, over the columns of the whole condition.
struct RangeCondition {
  expressions::ExpressionPtr build;
  expressions::ExpressionPtr probe;
  bool build_is_above = true;  // the build side's value is at least the probe side's; else at most
  bool is_strict = false;      // they are not equal
};

struct RangeConditions {
  std::vector<RangeCondition> all;
  bool are_everything = true;  // a pair that fulfils them fulfils the whole condition
};

// What every pair fulfils that fulfils `condition`. `is_build`: by column of the condition, whether it is one of the
// build side.
RangeConditions range_conditions(const expressions::ExpressionPtr& condition,
                                 const std::vector<bool>& is_build);

// Whether the residual condition of a join, nullptr for none, has any.
bool has_range_conditions(const operators::JoinSpec& spec,
                          const expressions::ExpressionPtr& residual);

}  // namespace crossdock::execution
