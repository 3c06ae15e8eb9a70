// The types of functions of strings, numbers and dates.
#include <algorithm>

#include "expressions/civil_date.hpp"
#include "expressions/expression.hpp"
#include "expressions/expression_types.hpp"
#include "expressions/json_path.hpp"
#include "expressions/regular_expression.hpp"
#include "expressions/time_format.hpp"

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
    case ExpressionOp::kStripLeft:
    case ExpressionOp::kStripRight:
      return {1, 1, 0, 0, 0, 1};
    case ExpressionOp::kConcat:
      return {1, kMaxExpressionNodes, 0, 0, 0, 0};
    case ExpressionOp::kReplace:  // three strings, or one and two values
      return {1, 3, 0, 0, 0, 2};
    case ExpressionOp::kPadLeft:
    case ExpressionOp::kPadRight:
      return {1, 1, 1, 1, 1, 1};
    case ExpressionOp::kReplaceMatches:
      return {1, 1, 1, 1, 2, 2};
    case ExpressionOp::kExtract:
      return {1, 1, 1, 1, 1, 1};
    case ExpressionOp::kFind:
    case ExpressionOp::kLevenshtein:
    case ExpressionOp::kHamming:
    case ExpressionOp::kJaccard:
    case ExpressionOp::kJaro:
    case ExpressionOp::kJaroWinkler:
      return {2, 2, 0, 0, 0, 0};
    case ExpressionOp::kTranslate:
      return {3, 3, 0, 0, 0, 0};
    case ExpressionOp::kRepeat:
      return {1, 1, 1, 1, 0, 0};
    case ExpressionOp::kSplitPart:
      return {2, 2, 1, 1, 0, 0};
    case ExpressionOp::kCharacter:
    case ExpressionOp::kHex:
      return {0, 0, 1, 1, 0, 0};
    default:  // kLength, kLower, kUpper, kReverse, kInitcap, kMd5 ... kUrlEncode, kCodePoint
      return {1, 1, 0, 0, 0, 0};
  }
}

DataType string_result(ExpressionOp op) {
  switch (op) {
    case ExpressionOp::kLength:
    case ExpressionOp::kFind:
    case ExpressionOp::kCodePoint:
    case ExpressionOp::kLevenshtein:
    case ExpressionOp::kHamming:
      return type_of("l");
    case ExpressionOp::kJaccard:
    case ExpressionOp::kJaro:
    case ExpressionOp::kJaroWinkler:
      return type_of("g");
    default:
      return computed_string_type();
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
    if (fits && parts.op != ExpressionOp::kHex)
      parts.arguments[i] = converted(parts.arguments[i], type_of("l"));
  }
  if (parts.op == ExpressionOp::kReplace) fits = fits && strings + parts.values.size() == 3;
  if (!fits) return refuse(parts);
  if (parts.op == ExpressionOp::kReplaceMatches || parts.op == ExpressionOp::kExtract) {
    if (parts.arguments[1]->op != ExpressionOp::kLiteral) return refuse(parts);
    CD_TRY(check_regular(parts));
  }
  const DataType result = string_result(parts.op);
  return node(std::move(parts), result);
}

DataType json_type(ExpressionOp op) {
  if (op == ExpressionOp::kJsonArrayLength) return type_of("l");
  const bool is_test = op == ExpressionOp::kJsonExists || op == ExpressionOp::kJsonValid;
  return is_test ? type_of("b") : computed_string_type();
}

Result<ExpressionPtr> json_call(CallParts parts) {
  const bool has_path = parts.op != ExpressionOp::kJsonValid;
  if (parts.arguments.size() != 1 || !is_text(parts.arguments[0]->type) ||
      parts.values.empty() == has_path) {
    return refuse(parts);
  }
  for (const LiteralValue& path : parts.values) CD_TRY(parse_json_path(path.text));
  const ExpressionPtr document = parts.arguments[0];
  // A path into what a path leads to is one path, but that of what is not there nothing is known.
  if (document->op == ExpressionOp::kJsonExtract && has_path &&
      parts.op != ExpressionOp::kJsonExists) {
    parts.values.insert(parts.values.begin(), document->values.begin(), document->values.end());
    parts.arguments = document->arguments;
  }
  const DataType type = json_type(parts.op);
  return node(std::move(parts), type);
}

// kPower ... kLog10, kCbrt ... kRadians: of any numbers as float64s.
Result<ExpressionPtr> real_function(CallParts parts) {
  const bool of_two = parts.op == ExpressionOp::kPower || parts.op == ExpressionOp::kAtan2;
  const size_t takes = of_two ? 2 : 1;
  bool fits = parts.arguments.size() == takes;
  for (const ExpressionPtr& each : parts.arguments) fits = fits && is_number(each->type);
  if (!fits) return refuse(parts);
  for (ExpressionPtr& each : parts.arguments) each = converted(each, type_of("g"));
  return node(std::move(parts), type_of("g"));
}

// kFloor, kCeil, kRound, kTrunc: integers stay as they are.
Result<ExpressionPtr> rounding(CallParts parts) {
  constexpr int64_t kMostDigits = 10;  // more are rounded in other ways by others
  const bool to_digits = parts.op == ExpressionOp::kRound || parts.op == ExpressionOp::kTrunc;
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
  if (is_real(type)) return node(parts, type);  // kSign, kRoundEven
  if (parts.op == ExpressionOp::kRoundEven) return refuse(parts);
  return is_exact(type) ? Result<ExpressionPtr>(node(parts, type_of("c"))) : refuse(parts);
}

Result<ExpressionPtr> date_part(CallParts parts) {
  const bool fits = parts.arguments.size() == 1 && is_instant(parts.arguments[0]->type);
  const bool is_date = parts.op == ExpressionOp::kLastDay;
  return fits ? Result<ExpressionPtr>(node(parts, type_of(is_date ? "tdD" : "l"))) : refuse(parts);
}

bool is_string_literal(const ExpressionPtr& expression) {
  return expression->op == ExpressionOp::kLiteral && is_text(expression->type) &&
         !expression->values[0].null;
}

Result<ExpressionPtr> formatted_or_parsed(CallParts parts) {
  const bool writes = parts.op == ExpressionOp::kFormatTime;
  const bool fits =
      parts.arguments.size() == 2 && is_string_literal(parts.arguments[1]) &&
      (writes ? is_instant(parts.arguments[0]->type) : is_text(parts.arguments[0]->type));
  if (!fits) return refuse(parts);
  const std::string_view format = parts.arguments[1]->values[0].text;
  CD_TRY(TimeFormat::parse(format, writes ? FormatUse::kWrite : FormatUse::kRead));
  return node(std::move(parts), writes ? computed_string_type() : type_of("tsu:"));
}

Result<ExpressionPtr> time_call(CallParts parts) {
  const std::vector<ExpressionPtr>& arguments = parts.arguments;
  const auto all = [&](size_t count, const auto& test) {
    return arguments.size() >= count &&
           std::all_of(arguments.begin(),
                       arguments.begin() + static_cast<int64_t>(count),
                       [&](const ExpressionPtr& each) { return test(each->type); });
  };
  switch (parts.op) {
    case ExpressionOp::kFormatTime:
    case ExpressionOp::kParseTime:
    case ExpressionOp::kTryParseTime:
      return formatted_or_parsed(std::move(parts));
    case ExpressionOp::kDateDiff: {
      const bool fits = all(2, is_instant) && arguments.size() == 3 &&
                        is_string_literal(arguments[2]) &&
                        find_period(arguments[2]->values[0].text).has_value();
      return fits ? Result<ExpressionPtr>(node(parts, type_of("l"))) : refuse(parts);
    }
    case ExpressionOp::kMakeDate:
      if (arguments.size() != 3 || !all(3, is_integer)) return refuse(parts);
      for (ExpressionPtr& each : parts.arguments) each = converted(each, type_of("l"));
      return node(std::move(parts), type_of("tdD"));
    case ExpressionOp::kEpoch: {
      const bool fits = arguments.size() == 1 && all(1, is_instant);
      return fits ? Result<ExpressionPtr>(node(parts, type_of("g"))) : refuse(parts);
    }
    default: {  // kMillisecond, kMicrosecond
      const bool fits = arguments.size() == 1 && all(1, is_instant) &&
                        arguments[0]->type.id == TypeId::kTimestamp;
      return fits ? Result<ExpressionPtr>(node(parts, type_of("l"))) : refuse(parts);
    }
  }
}

}  // namespace

Status types::check_regular(const CallParts& parts) {
  CD_ASSIGN(const auto regular, RegularExpression::compile(parts.values[0].text));
  if (parts.op == ExpressionOp::kReplaceMatches) {
    return regular->check_replacement(parts.values[1].text);
  }
  if (parts.op == ExpressionOp::kExtract) {
    return regular->check_group(parts.arguments[1]->values[0].integer);
  }
  return {};
}

Result<ExpressionPtr> types::function_call(CallParts parts) {
  if (is_of_bits(parts.op)) return bits_call(std::move(parts));
  switch (parts.op) {
    case ExpressionOp::kPower:
    case ExpressionOp::kSqrt:
    case ExpressionOp::kExp:
    case ExpressionOp::kLn:
    case ExpressionOp::kLog2:
    case ExpressionOp::kLog10:
    case ExpressionOp::kCbrt:
    case ExpressionOp::kSin:
    case ExpressionOp::kCos:
    case ExpressionOp::kTan:
    case ExpressionOp::kAsin:
    case ExpressionOp::kAcos:
    case ExpressionOp::kAtan:
    case ExpressionOp::kAtan2:
    case ExpressionOp::kDegrees:
    case ExpressionOp::kRadians:
      return real_function(std::move(parts));
    case ExpressionOp::kFloor:
    case ExpressionOp::kCeil:
    case ExpressionOp::kRound:
    case ExpressionOp::kTrunc:
      return rounding(std::move(parts));
    case ExpressionOp::kRoundEven:
    case ExpressionOp::kSign:
    case ExpressionOp::kIsNan:
      return of_number(std::move(parts));
    case ExpressionOp::kMillisecond:
    case ExpressionOp::kMicrosecond:
    case ExpressionOp::kEpoch:
    case ExpressionOp::kFormatTime:
    case ExpressionOp::kParseTime:
    case ExpressionOp::kTryParseTime:
    case ExpressionOp::kDateDiff:
    case ExpressionOp::kMakeDate:
      return time_call(std::move(parts));
    case ExpressionOp::kLastDay:
    case ExpressionOp::kIsoYear:
    case ExpressionOp::kQuarter:
    case ExpressionOp::kWeek:
    case ExpressionOp::kDayOfYear:
      return date_part(std::move(parts));
    case ExpressionOp::kTruncate:
    case ExpressionOp::kAddMonths:
      return date_move(std::move(parts));
    default:
      return types::is_of_json(parts.op) ? json_call(std::move(parts))
                                         : string_call(std::move(parts));
  }
}

}  // namespace crossdock::expressions
