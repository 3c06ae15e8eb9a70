// Expressions written as JSON, for tests.
//
//   {"call": "multiply", "of": [{"column": "price"}, {"literal": "95", "type": "d:2,2"}]}
#pragma once

#include <string_view>
#include <vector>

#include "expressions/expression.hpp"

namespace crossdock::expressions {

// Over the columns of `schema`. Errors: kInvalidArgument (not JSON, not of the form, too deep), kUnknownColumn,
// kUnsupportedType.
Result<ExpressionPtr> parse_expression(std::string_view json, const Schema& schema);
// The same for a JSON list of expressions.
Result<std::vector<ExpressionPtr>> parse_expressions(std::string_view json, const Schema& schema);

}  // namespace crossdock::expressions
