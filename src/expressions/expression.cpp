#include "expressions/expression.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "expressions/civil_date.hpp"

namespace crossdock::expressions {
namespace {

struct OpName {
  ExpressionOp op;
  const char* name;
  const char* sign;  // between two arguments; nullptr: written as a function
};

constexpr OpName kOpNames[] = {
    {ExpressionOp::kAdd, "add", "+"},
    {ExpressionOp::kSubtract, "subtract", "-"},
    {ExpressionOp::kMultiply, "multiply", "*"},
    {ExpressionOp::kDivide, "divide", "/"},
    {ExpressionOp::kFloorDivide, "floor_divide", "//"},
    {ExpressionOp::kRemainder, "remainder", "%"},
    {ExpressionOp::kNegate, "negate", nullptr},
    {ExpressionOp::kAbs, "abs", nullptr},
    {ExpressionOp::kEqual, "equal", "=="},
    {ExpressionOp::kNotEqual, "not_equal", "!="},
    {ExpressionOp::kLess, "less", "<"},
    {ExpressionOp::kLessEqual, "less_equal", "<="},
    {ExpressionOp::kGreater, "greater", ">"},
    {ExpressionOp::kGreaterEqual, "greater_equal", ">="},
    {ExpressionOp::kAnd, "and_kleene", "&"},
    {ExpressionOp::kOr, "or_kleene", "|"},
    {ExpressionOp::kNot, "invert", nullptr},
    {ExpressionOp::kIsNull, "is_null", nullptr},
    {ExpressionOp::kIsValid, "is_valid", nullptr},
    {ExpressionOp::kIsIn, "is_in", nullptr},
    {ExpressionOp::kStartsWith, "starts_with", nullptr},
    {ExpressionOp::kEndsWith, "ends_with", nullptr},
    {ExpressionOp::kContains, "contains", nullptr},
    {ExpressionOp::kLike, "like", nullptr},
    {ExpressionOp::kLikeAnyCase, "ilike", nullptr},
    {ExpressionOp::kMatches, "matches", nullptr},
    {ExpressionOp::kCase, "case", nullptr},
    {ExpressionOp::kCoalesce, "coalesce", nullptr},
    {ExpressionOp::kYear, "year", nullptr},
    {ExpressionOp::kMonth, "month", nullptr},
    {ExpressionOp::kDay, "day", nullptr},
    {ExpressionOp::kWeekday, "weekday", nullptr},
    {ExpressionOp::kHour, "hour", nullptr},
    {ExpressionOp::kMinute, "minute", nullptr},
    {ExpressionOp::kSecond, "second", nullptr},
    {ExpressionOp::kToDate, "date", nullptr},
    {ExpressionOp::kLength, "length", nullptr},
    {ExpressionOp::kSubstring, "substring", nullptr},
    {ExpressionOp::kLower, "lower", nullptr},
    {ExpressionOp::kUpper, "upper", nullptr},
    {ExpressionOp::kStrip, "strip", nullptr},
    {ExpressionOp::kStripLeft, "lstrip", nullptr},
    {ExpressionOp::kStripRight, "rstrip", nullptr},
    {ExpressionOp::kConcat, "concat", nullptr},
    {ExpressionOp::kReplace, "replace", nullptr},
    {ExpressionOp::kPadLeft, "lpad", nullptr},
    {ExpressionOp::kPadRight, "rpad", nullptr},
    {ExpressionOp::kReplaceMatches, "replace_matches", nullptr},
    {ExpressionOp::kExtract, "extract", nullptr},
    {ExpressionOp::kFind, "find", nullptr},
    {ExpressionOp::kReverse, "reverse", nullptr},
    {ExpressionOp::kRepeat, "repeat", nullptr},
    {ExpressionOp::kSplitPart, "split_part", nullptr},
    {ExpressionOp::kInitcap, "initcap", nullptr},
    {ExpressionOp::kMd5, "md5", nullptr},
    {ExpressionOp::kSha1, "sha1", nullptr},
    {ExpressionOp::kSha256, "sha256", nullptr},
    {ExpressionOp::kUrlEncode, "url_encode", nullptr},
    {ExpressionOp::kTranslate, "translate", nullptr},
    {ExpressionOp::kLevenshtein, "levenshtein", nullptr},
    {ExpressionOp::kHamming, "hamming", nullptr},
    {ExpressionOp::kJaccard, "jaccard", nullptr},
    {ExpressionOp::kJaro, "jaro_similarity", nullptr},
    {ExpressionOp::kJaroWinkler, "jaro_winkler_similarity", nullptr},
    {ExpressionOp::kCodePoint, "code_point", nullptr},
    {ExpressionOp::kCharacter, "character", nullptr},
    {ExpressionOp::kHex, "hex", nullptr},
    {ExpressionOp::kJsonExtract, "json_extract", nullptr},
    {ExpressionOp::kJsonExtractString, "json_extract_string", nullptr},
    {ExpressionOp::kJsonType, "json_type", nullptr},
    {ExpressionOp::kJsonKeys, "json_keys", nullptr},
    {ExpressionOp::kJsonArrayLength, "json_array_length", nullptr},
    {ExpressionOp::kJsonExists, "json_exists", nullptr},
    {ExpressionOp::kJsonValid, "json_valid", nullptr},
    {ExpressionOp::kGreatest, "greatest", nullptr},
    {ExpressionOp::kLeast, "least", nullptr},
    {ExpressionOp::kPower, "power", "**"},
    {ExpressionOp::kSqrt, "sqrt", nullptr},
    {ExpressionOp::kExp, "exp", nullptr},
    {ExpressionOp::kLn, "ln", nullptr},
    {ExpressionOp::kLog2, "log2", nullptr},
    {ExpressionOp::kLog10, "log10", nullptr},
    {ExpressionOp::kFloor, "floor", nullptr},
    {ExpressionOp::kCeil, "ceil", nullptr},
    {ExpressionOp::kRound, "round", nullptr},
    {ExpressionOp::kRoundEven, "round_even", nullptr},
    {ExpressionOp::kSign, "sign", nullptr},
    {ExpressionOp::kIsNan, "is_nan", nullptr},
    {ExpressionOp::kCbrt, "cbrt", nullptr},
    {ExpressionOp::kSin, "sin", nullptr},
    {ExpressionOp::kCos, "cos", nullptr},
    {ExpressionOp::kTan, "tan", nullptr},
    {ExpressionOp::kAsin, "asin", nullptr},
    {ExpressionOp::kAcos, "acos", nullptr},
    {ExpressionOp::kAtan, "atan", nullptr},
    {ExpressionOp::kAtan2, "atan2", nullptr},
    {ExpressionOp::kDegrees, "degrees", nullptr},
    {ExpressionOp::kRadians, "radians", nullptr},
    {ExpressionOp::kTrunc, "trunc", nullptr},
    {ExpressionOp::kBitAnd, "bit_and", nullptr},
    {ExpressionOp::kBitOr, "bit_or", nullptr},
    {ExpressionOp::kBitXor, "bit_xor", nullptr},
    {ExpressionOp::kBitNot, "bit_not", nullptr},
    {ExpressionOp::kShiftLeft, "shift_left", "<<"},
    {ExpressionOp::kShiftRight, "shift_right", ">>"},
    {ExpressionOp::kGcd, "gcd", nullptr},
    {ExpressionOp::kLcm, "lcm", nullptr},
    {ExpressionOp::kOneRow, "one_row", nullptr},
    {ExpressionOp::kQuarter, "quarter", nullptr},
    {ExpressionOp::kWeek, "week", nullptr},
    {ExpressionOp::kDayOfYear, "day_of_year", nullptr},
    {ExpressionOp::kLastDay, "last_day", nullptr},
    {ExpressionOp::kIsoYear, "iso_year", nullptr},
    {ExpressionOp::kMillisecond, "millisecond", nullptr},
    {ExpressionOp::kMicrosecond, "microsecond", nullptr},
    {ExpressionOp::kEpoch, "epoch", nullptr},
    {ExpressionOp::kFormatTime, "strftime", nullptr},
    {ExpressionOp::kParseTime, "strptime", nullptr},
    {ExpressionOp::kTryParseTime, "try_strptime", nullptr},
    {ExpressionOp::kDateDiff, "date_diff", nullptr},
    {ExpressionOp::kMakeDate, "make_date", nullptr},
    {ExpressionOp::kTruncate, "truncate", nullptr},
    {ExpressionOp::kAddMonths, "add_months", nullptr},
    {ExpressionOp::kToText, "to_string", nullptr},
    {ExpressionOp::kToInteger, "to_integer", nullptr},
    {ExpressionOp::kToScale, "to_decimal", nullptr},
    {ExpressionOp::kToReal, "to_real", nullptr},
    {ExpressionOp::kFromReal, "from_real", nullptr},
    {ExpressionOp::kParse, "cast", nullptr},
    {ExpressionOp::kTryParse, "try_cast", nullptr},
};

const OpName* find_op(ExpressionOp op) {
  const auto* entry = std::find_if(
      std::begin(kOpNames), std::end(kOpNames), [op](const OpName& n) { return n.op == op; });
  return entry == std::end(kOpNames) ? nullptr : entry;
}

std::string integer_text(Int128 value, int32_t scale) {
  const bool negative = value < 0;
  UInt128 rest = negative ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  std::string digits;
  while (rest != 0 || static_cast<int32_t>(digits.size()) <= scale) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  }
  if (scale > 0) digits.insert(digits.end() - scale, '.');
  return negative ? "-" + digits : digits;
}

std::string date_text(Int128 days) {
  const CivilDate date = civil_date(static_cast<int64_t>(days));
  return fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
}

std::string literal_text(const DataType& type, const LiteralValue& value) {
  if (value.null) return "null";
  switch (value_domain(type).value()) {
    case ValueDomain::kText:
      return fmt::format("'{}'", value.text);
    case ValueDomain::kReal:
      return fmt::format("{}", value.real);
    case ValueDomain::kBool:
      return value.integer != 0 ? "true" : "false";
    default:
      if (type.id == TypeId::kDate32) return date_text(value.integer);
      return integer_text(value.integer, type.id == TypeId::kDecimal128 ? type.scale : 0);
  }
}

// An argument inside another call, in brackets if it is one with a sign.
std::string inner_text(const Expression& expression) {
  const OpName* name = find_op(expression.op);
  std::string text = expression_text(expression);
  return name != nullptr && name->sign != nullptr ? "(" + text + ")" : text;
}

bool is_conversion(ExpressionOp op) {
  return op >= ExpressionOp::kToText && op <= ExpressionOp::kTryParse;
}

}  // namespace

const char* op_name(ExpressionOp op) {
  const OpName* entry = find_op(op);
  return entry == nullptr ? nullptr : entry->name;
}

std::optional<ExpressionOp> find_function(std::string_view name) {
  const auto* entry = std::find_if(std::begin(kOpNames), std::end(kOpNames), [&](const OpName& n) {
    return n.name == name && !is_conversion(n.op);
  });
  if (entry == std::end(kOpNames)) return std::nullopt;
  return entry->op;
}

Status check_columns(const Expression& expression, const Schema& schema) {
  if (expression.op == ExpressionOp::kColumn) {
    const bool is_there = expression.column >= 0 && expression.column < schema.column_count() &&
                          schema.fields[expression.column].type == expression.type &&
                          schema.fields[expression.column].name == expression.name;
    if (is_there) return {};
    return make_error(ErrorCode::kInvalidArgument,
                      "an expression reads column '{}' of another table or plan",
                      expression.name);
  }
  for (const ExpressionPtr& argument : expression.arguments) {
    CD_TRY(check_columns(*argument, schema));
  }
  return {};
}

const DataType& computed_string_type() {
  static const DataType kType = parse_arrow_format("vu").value();
  return kType;
}

Result<ValueDomain> value_domain(const DataType& type) {
  if (type.id == TypeId::kDictionary) {
    if (is_string(type.dictionary->id)) return ValueDomain::kText;
  } else if (type.id == TypeId::kBool) {
    return ValueDomain::kBool;
  } else if (type.id == TypeId::kFloat32 || type.id == TypeId::kFloat64) {
    return ValueDomain::kReal;
  } else if (is_string(type.id)) {
    return ValueDomain::kText;
  } else if (type.id != TypeId::kFloat16 && layout(type) == Layout::kFixed && type.scale >= 0) {
    return ValueDomain::kInteger;
  }
  return make_error(
      ErrorCode::kUnsupportedType, "expressions do not compute with {}", type_name(type));
}

ValueDomain Expression::domain() const {
  const Result<ValueDomain> domain = value_domain(type);
  CD_CHECK(domain.ok(), "{}", type_name(type));
  return domain.value();
}

Status check_computed(std::string_view name, const DataType& type) {
  const Layout lay = layout(type);
  const bool fits = lay == Layout::kFixed || lay == Layout::kBits || type.id == TypeId::kUtf8View;
  if (fits && type.id != TypeId::kDictionary) return {};
  return make_error(ErrorCode::kUnsupportedType,
                    "the computed column '{}' is {}, and columns of this type are not computed",
                    name,
                    type_name(type));
}

ExpressionPtr make_column(const Schema& schema, int column) {
  auto column_node = std::make_shared<Expression>();
  column_node->op = ExpressionOp::kColumn;
  column_node->type = schema.fields[column].type;
  column_node->column = column;
  column_node->name = schema.fields[column].name;
  return column_node;
}

ExpressionPtr make_literal(DataType type, LiteralValue value) {
  auto literal = std::make_shared<Expression>();
  literal->op = ExpressionOp::kLiteral;
  literal->type = std::move(type);
  literal->values.push_back(std::move(value));
  return literal;
}

std::string expression_text(const Expression& expression) {
  if (expression.op == ExpressionOp::kColumn) return expression.name;
  if (expression.op == ExpressionOp::kLiteral) {
    return literal_text(expression.type, expression.values[0]);
  }
  const OpName* name = find_op(expression.op);
  if (name->sign != nullptr) {
    return fmt::format("{} {} {}",
                       inner_text(*expression.arguments[0]),
                       name->sign,
                       inner_text(*expression.arguments[1]));
  }
  std::string inside;
  for (const ExpressionPtr& argument : expression.arguments) {
    inside += (inside.empty() ? "" : ", ") + expression_text(*argument);
  }
  for (const LiteralValue& value : expression.values) {
    inside += ", " + literal_text(expression.arguments[0]->type, value);
  }
  if (is_conversion(expression.op)) inside += ", " + type_name(expression.type);
  return fmt::format("{}({})", name->name, inside);
}

}  // namespace crossdock::expressions
