// The types of functions of strings, numbers and dates.
#include <algorithm>

#include "expressions/civil_date.hpp"
#include "expressions/expression.hpp"
#include "expressions/expression_types.hpp"

namespace crossdock::expressions {
namespace {

using namespace types;

// What a function of strings takes: strings, then integers, then values.
struct StringArguments {
  size_t strings_min;
  size_t strings_max;
  size_t integers_min;
  size_t integers_max;
  size_t values_min;
  size_t values_max;
};

StringArguments string_arguments(ExpressionOp op) {
  switch (op) {
    case ExpressionOp::kSubstring:
      return {1, 1, 1, 2, 0, 0};
    case ExpressionOp::kStrip:
      return {1, 1, 0, 0, 0, 1};
    case ExpressionOp::kConcat:
      return {1, kMaxExpressionNodes, 0, 0, 0, 0};
    case ExpressionOp::kReplace:
      return {1, 1, 0, 0, 2, 2};
    case ExpressionOp::kPadLeft:
    case ExpressionOp::kPadRight:
      return {1, 1, 1, 1, 1, 1};
    default:  // kLength, kLower, kUpper
      return {1, 1, 0, 0, 0, 0};
  }
}

Result<ExpressionPtr> string_call(CallParts parts) {
  const StringArguments takes = string_arguments(parts.op);
  const auto within = [](size_t count, size_t least, size_t most) {
    return count >= least && count <= most;
  };
  const auto integer = std::find_if(parts.arguments.begin(),
                                    parts.arguments.end(),
                                    [](const ExpressionPtr& each) { return !is_text(each->type); });
  const auto strings = static_cast<size_t>(integer - parts.arguments.begin());
  bool fits = within(strings, takes.strings_min, takes.strings_max) &&
              within(parts.arguments.size() - strings, takes.integers_min, takes.integers_max) &&
              within(parts.values.size(), takes.values_min, takes.values_max);
  for (size_t i = strings; fits && i < parts.arguments.size(); ++i) {
    fits = is_integer(parts.arguments[i]->type);
    if (fits) parts.arguments[i] = converted(parts.arguments[i], type_of("l"));
  }
  if (!fits) return refuse(parts);
  const bool counts = parts.op == ExpressionOp::kLength;
  return node(std::move(parts), counts ? type_of("l") : computed_string_type());
}

// kPower ... kLog10: of any numbers as float64s.
Result<ExpressionPtr> real_function(CallParts parts) {
  const size_t takes = parts.op == ExpressionOp::kPower ? 2 : 1;
  bool fits = parts.arguments.size() == takes;
  for (const ExpressionPtr& each : parts.arguments) fits = fits && is_number(each->type);
  if (!fits) return refuse(parts);
  for (ExpressionPtr& each : parts.arguments) each = converted(each, type_of("g"));
  return node(std::move(parts), type_of("g"));
}

// kFloor, kCeil, kRound: integers stay as they are.
Result<ExpressionPtr> rounding(CallParts parts) {
  constexpr int64_t kMostDigits = 10;  // more are rounded in other ways by others
  const bool to_digits = parts.op == ExpressionOp::kRound;
  if (parts.arguments.size() != (to_digits ? 2 : 1)) return refuse(parts);
  const DataType type = parts.arguments[0]->type;
  Int128 digits = 0;
  if (to_digits) {
    const Expression& literal = *parts.arguments[1];
    if (literal.op != ExpressionOp::kLiteral || !is_integer(literal.type)) return refuse(parts);
    digits = literal.values[0].integer;
    const bool narrow = type.id == TypeId::kFloat32 && digits != 0;
    if (digits > kMostDigits || digits < -kMostDigits || narrow) return refuse(parts);
  }
  if (is_integer(type) && digits >= 0) return parts.arguments[0];
  if (is_decimal(type) && type.scale >= 0 && type.scale - digits < kDecimalDigits) {
    if (digits >= type.scale) return parts.arguments[0];
    return node(std::move(parts), type);
  }
  return is_real(type) ? Result<ExpressionPtr>(node(parts, type)) : refuse(parts);
}

Result<ExpressionPtr> date_move(CallParts parts) {
  if (parts.arguments.size() != 2 || !is_instant(parts.arguments[0]->type)) return refuse(parts);
  const DataType type = parts.arguments[0]->type;
  ExpressionPtr& by = parts.arguments[1];
  if (parts.op == ExpressionOp::kAddMonths) {
    if (!is_integer(by->type)) return refuse(parts);
    by = converted(by, type_of("l"));
    return node(std::move(parts), type);
  }
  const bool fits = by->op == ExpressionOp::kLiteral && is_text(by->type) &&
                    find_period(by->values[0].text).has_value();
  return fits ? Result<ExpressionPtr>(node(parts, type)) : refuse(parts);
}

Result<ExpressionPtr> of_number(CallParts parts) {
  if (parts.arguments.size() != 1) return refuse(parts);
  const DataType& type = parts.arguments[0]->type;
  if (parts.op == ExpressionOp::kIsNan) {
    return is_real(type) ? Result<ExpressionPtr>(node(parts, type_of("b"))) : refuse(parts);
  }
  if (is_real(type)) return node(parts, type);  // kSign
  return is_exact(type) ? Result<ExpressionPtr>(node(parts, type_of("c"))) : refuse(parts);
}

Result<ExpressionPtr> date_part(CallParts parts) {
  const bool fits = parts.arguments.size() == 1 && is_instant(parts.arguments[0]->type);
  return fits ? Result<ExpressionPtr>(node(parts, type_of("l"))) : refuse(parts);
}

}  // namespace

Result<ExpressionPtr> types::function_call(CallParts parts) {
  switch (parts.op) {
    case ExpressionOp::kPower:
    case ExpressionOp::kSqrt:
    case ExpressionOp::kExp:
    case ExpressionOp::kLn:
    case ExpressionOp::kLog2:
    case ExpressionOp::kLog10:
      return real_function(std::move(parts));
    case ExpressionOp::kFloor:
    case ExpressionOp::kCeil:
    case ExpressionOp::kRound:
      return rounding(std::move(parts));
    case ExpressionOp::kSign:
    case ExpressionOp::kIsNan:
      return of_number(std::move(parts));
    case ExpressionOp::kQuarter:
    case ExpressionOp::kWeek:
    case ExpressionOp::kDayOfYear:
      return date_part(std::move(parts));
    case ExpressionOp::kTruncate:
    case ExpressionOp::kAddMonths:
      return date_move(std::move(parts));
    default:
      return string_call(std::move(parts));
  }
}

}  // namespace crossdock::expressions
