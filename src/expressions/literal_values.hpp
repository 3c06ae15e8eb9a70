// Literals and calls as callers give them: values by type, functions by name.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "expressions/expression.hpp"

namespace crossdock::expressions {

// NULL; a bool; a number; a string, or the digits of a number.
using GivenLiteral = std::variant<std::monostate, bool, int64_t, double, std::string>;

// Error kInvalidArgument for a value that is none of the type, kUnsupportedType for a type without a domain.
Result<LiteralValue> literal_value(const GivenLiteral& given, const DataType& type);
Result<ExpressionPtr> given_literal(const GivenLiteral& given, const DataType& type);

// `type`: of a cast. `values`: in the type of the first argument. Errors: those of make_call, and kInvalidArgument for
// a function that is none, and NULL among the values.
struct GivenCall {
  std::string function;
  std::vector<ExpressionPtr> arguments;
  std::vector<GivenLiteral> values;
  DataType type;
};
Result<ExpressionPtr> given_call(GivenCall call);

}  // namespace crossdock::expressions
