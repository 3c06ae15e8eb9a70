// Public expressions as programs; what operations with computed columns share.
#pragma once

#include <crossdock/expressions.hpp>

#include "base/result.hpp"
#include "expressions/computed_columns.hpp"

namespace crossdock {

// Errors: those of parse_expression and Program::create, and kUnsupportedType for a computed text.
Result<expressions::ComputedColumns> make_computed(const ComputeOptions& options,
                                                   const Schema& schema);

}  // namespace crossdock
