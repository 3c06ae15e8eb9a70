// The types of calls, and the conversions between what arguments are and what a function computes with.
#include "expressions/expression_types.hpp"

#include <algorithm>
#include <optional>

#include "expressions/expression.hpp"
#include "expressions/powers.hpp"

namespace crossdock::expressions {
namespace {

using namespace types;

DataType integer_type(bool is_signed, int32_t bytes) {
  constexpr std::string_view kSigned[] = {"", "c", "s", "", "i", "", "", "", "l"};
  constexpr std::string_view kUnsigned[] = {"", "C", "S", "", "I", "", "", "", "L"};
  return type_of(is_signed ? kSigned[bytes] : kUnsigned[bytes]);
}

// None for uint64 with a signed type: no integer type has all values of both.
std::optional<DataType> common_integer(const DataType& a, const DataType& b) {
  const bool a_signed = is_signed_integer(a.id);
  const bool b_signed = is_signed_integer(b.id);
  const int32_t a_bytes = fixed_bytes(a);
  const int32_t b_bytes = fixed_bytes(b);
  if (a_signed == b_signed) return integer_type(a_signed, std::max(a_bytes, b_bytes));
  const int32_t of_signed = a_signed ? a_bytes : b_bytes;
  const int32_t of_unsigned = a_signed ? b_bytes : a_bytes;
  if (of_unsigned == 8) return std::nullopt;
  return integer_type(true, std::max(of_signed, 2 * of_unsigned));
}

// For a float and another number.
DataType common_real(const DataType& a, const DataType& b) {
  const auto narrow = [](const DataType& type) {
    return type.id == TypeId::kFloat32 || (is_integer(type) && fixed_bytes(type) <= 2);
  };
  return type_of(narrow(a) && narrow(b) ? "f" : "g");
}

// The type in which values of both stand side by side: of comparisons and choices.
std::optional<DataType> common_type(const DataType& a, const DataType& b) {
  if (is_text(a) && is_text(b)) return computed_string_type();
  if (a == b) return a;
  if (!is_number(a) || !is_number(b)) return std::nullopt;
  if (is_real(a) || is_real(b)) return common_real(a, b);
  if (!is_decimal(a) && !is_decimal(b)) return common_integer(a, b);
  const Digits x = digits_of(a);
  const Digits y = digits_of(b);
  const int32_t scale = std::max(x.scale, y.scale);
  const int32_t precision = std::max(x.precision - x.scale, y.precision - y.scale) + scale;
  if (precision > kDecimalDigits) return std::nullopt;
  return decimal_type(precision, scale);
}

double real_of(const Expression& literal, const DataType& type) {
  const LiteralValue& value = literal.values[0];
  if (is_real(literal.type)) return value.real;
  double real = integer_to_real(value.integer);
  if (is_decimal(literal.type)) real /= real_power_of_ten(literal.type.scale);
  return type.id == TypeId::kFloat32 ? static_cast<float>(real) : real;
}

// A literal converted at once; nullptr if its value does not fit and must fail where it is computed.
ExpressionPtr converted_literal(const Expression& literal, const DataType& type) {
  LiteralValue value = literal.values[0];
  if (value.null) return make_literal(type, value);
  if (is_real(type)) {
    value.real = real_of(literal, type);
    return make_literal(type, value);
  }
  const int32_t from = is_decimal(literal.type) ? literal.type.scale : 0;
  const int32_t to = is_decimal(type) ? type.scale : 0;
  if (is_real(literal.type) || to < from || to - from > kDecimalDigits) return nullptr;
  if (__builtin_mul_overflow(value.integer, power_of_ten(to - from), &value.integer))
    return nullptr;
  return make_literal(type, value);
}

}  // namespace

ExpressionPtr types::converted(const ExpressionPtr& value, const DataType& type) {
  if (value->type == type || is_text(type)) return value;
  if (value->op == ExpressionOp::kLiteral) {
    if (ExpressionPtr literal = converted_literal(*value, type)) return literal;
  }
  CallParts parts;
  parts.op = is_real(type)    ? ExpressionOp::kToReal
           : is_decimal(type) ? ExpressionOp::kToScale
                              : ExpressionOp::kToInteger;
  parts.arguments = {value};
  return node(std::move(parts), type);
}

namespace {

Result<ExpressionPtr> decimal_arithmetic(CallParts parts) {
  Digits x = digits_of(parts.arguments[0]->type);
  Digits y = digits_of(parts.arguments[1]->type);
  int32_t scale = x.scale + y.scale;
  int32_t precision = x.precision + y.precision + 1;
  if (parts.op != ExpressionOp::kMultiply) {
    scale = std::max(x.scale, y.scale);
    precision = std::max(x.precision - x.scale, y.precision - y.scale) + scale + 1;
  }
  if (scale > kDecimalDigits || x.scale < 0 || y.scale < 0) return refuse(parts);
  const bool aligned = parts.op != ExpressionOp::kMultiply;
  for (ExpressionPtr& argument : parts.arguments) {
    const Digits digits = digits_of(argument->type);
    const int32_t to = aligned ? scale : digits.scale;
    const int32_t wide = std::min(kDecimalDigits, digits.precision + to - digits.scale);
    argument = converted(argument, decimal_type(wide, to));
  }
  return node(std::move(parts), decimal_type(std::min(precision, kDecimalDigits), scale));
}

Result<ExpressionPtr> arithmetic(CallParts parts) {
  if (parts.arguments.size() != 2) return refuse(parts);
  const DataType a = parts.arguments[0]->type;
  const DataType b = parts.arguments[1]->type;
  if (!is_number(a) || !is_number(b)) return refuse(parts);
  const bool whole = parts.op == ExpressionOp::kFloorDivide || parts.op == ExpressionOp::kRemainder;
  std::optional<DataType> type;
  if (parts.op == ExpressionOp::kDivide) {
    const bool both_narrow = a.id == TypeId::kFloat32 && b.id == TypeId::kFloat32;
    type = type_of(both_narrow ? "f" : "g");
  } else if (is_real(a) || is_real(b)) {
    type = common_real(a, b);
  } else if (is_decimal(a) || is_decimal(b)) {
    if (!whole) return decimal_arithmetic(std::move(parts));
  } else {
    type = common_integer(a, b);
  }
  if (!type) return refuse(parts);
  for (ExpressionPtr& argument : parts.arguments) argument = converted(argument, *type);
  return node(std::move(parts), *type);
}

bool holds_all_of(const DataType& type, const DataType& of) {
  const bool is_unsigned = is_unsigned_integer(type.id);
  const int32_t spare = fixed_bytes(type) - fixed_bytes(of);
  if (is_unsigned == is_unsigned_integer(of.id)) return spare >= 0;
  return !is_unsigned && spare > 0;
}

// An integer without casts to types that hold all its values: integers of any types are compared exactly.
ExpressionPtr without_widening(ExpressionPtr value) {
  while (value->op == ExpressionOp::kToInteger && is_integer(value->type) &&
         is_integer(value->arguments[0]->type) &&
         holds_all_of(value->type, value->arguments[0]->type)) {
    value = value->arguments[0];
  }
  return value;
}

Result<ExpressionPtr> comparison(CallParts parts) {
  if (parts.arguments.size() != 2) return refuse(parts);
  for (ExpressionPtr& argument : parts.arguments) argument = without_widening(argument);
  const DataType& a = parts.arguments[0]->type;
  const DataType& b = parts.arguments[1]->type;
  // Strings compare byte by byte, whatever their layouts, and integers word by word.
  const bool as_they_are = (is_text(a) && is_text(b)) || (is_integer(a) && is_integer(b));
  if (!as_they_are) {
    // Where no type holds the values of both, exact numbers are compared digit by digit.
    const std::optional<DataType> type = common_type(a, b);
    if (!type && !(is_exact(a) && is_exact(b))) return refuse(parts);
    for (ExpressionPtr& argument : parts.arguments) {
      if (type) argument = converted(argument, *type);
    }
  }
  return node(std::move(parts), type_of("b"));
}

// The type of a choice between values of both. The scale of decimals stays, and their precision stops at
// what decimals have, so that a value may not fit.
std::optional<DataType> chosen_type(const DataType& a, const DataType& b) {
  std::optional<DataType> both = common_type(a, b);
  const bool decimals = is_exact(a) && is_exact(b) && (is_decimal(a) || is_decimal(b));
  if (both || !decimals) return both;
  return decimal_type(kDecimalDigits, std::max(digits_of(a).scale, digits_of(b).scale));
}

// The values of the arguments at `positions` in one type, which is the call's.
Result<ExpressionPtr> choice(CallParts parts, const std::vector<size_t>& positions) {
  DataType type = parts.arguments[positions[0]]->type;
  for (const size_t i : positions) {
    const std::optional<DataType> both = chosen_type(type, parts.arguments[i]->type);
    if (!both) return refuse(parts);
    type = *both;
  }
  for (const size_t i : positions) parts.arguments[i] = converted(parts.arguments[i], type);
  return node(std::move(parts), type);
}

Result<ExpressionPtr> case_call(CallParts parts) {
  const size_t count = parts.arguments.size();
  if (count < 3 || count % 2 == 0) return refuse(parts);
  std::vector<size_t> positions;
  for (size_t i = 0; i + 1 < count; i += 2) {
    if (parts.arguments[i]->type.id != TypeId::kBool) return refuse(parts);
    positions.push_back(i + 1);
  }
  positions.push_back(count - 1);
  return choice(std::move(parts), positions);
}

// Coalescing of many is nested, so that what runs knows two only.
Result<ExpressionPtr> coalesce_call(CallParts parts) {
  if (parts.arguments.empty()) return refuse(parts);
  std::vector<size_t> positions(parts.arguments.size());
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = i;
  CD_ASSIGN(const ExpressionPtr all, choice(parts, positions));
  ExpressionPtr whole = all->arguments.back();
  for (size_t i = all->arguments.size() - 1; i-- > 0;) {
    whole = node({ExpressionOp::kCoalesce, {all->arguments[i], whole}, {}, {}}, all->type);
  }
  return whole;
}

// Of many, nested like these.
Result<ExpressionPtr> extreme_call(CallParts parts) {
  if (parts.arguments.empty()) return refuse(parts);
  std::vector<size_t> positions(parts.arguments.size());
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = i;
  CD_ASSIGN(const ExpressionPtr all, choice(parts, positions));
  if (all->domain() == ValueDomain::kBool) return refuse(parts);
  ExpressionPtr whole = all->arguments[0];
  for (size_t i = 1; i < all->arguments.size(); ++i) {
    whole = node({parts.op, {whole, all->arguments[i]}, {}, {}}, all->type);
  }
  return whole;
}

Result<ExpressionPtr> string_test(CallParts parts) {
  const bool fits =
      parts.arguments.size() == 1 && is_text(parts.arguments[0]->type) && parts.values.size() == 1;
  if (!fits) return refuse(parts);
  if (parts.op == ExpressionOp::kMatches) CD_TRY(check_regular(parts));
  return node(std::move(parts), type_of("b"));
}

Result<ExpressionPtr> membership(CallParts parts) {
  if (parts.arguments.size() != 1) return refuse(parts);
  ExpressionPtr& subject = parts.arguments[0];
  const ValueDomain domain = subject->domain();
  if (domain != ValueDomain::kText && domain != ValueDomain::kInteger) return refuse(parts);
  subject = without_widening(subject);
  return node(std::move(parts), type_of("b"));
}

// Whether integers of a type are the days of a date, or the ticks of a timestamp.
bool counts_ticks(const DataType& number, const DataType& instant) {
  if (!is_instant(instant)) return false;
  return number.id == (instant.id == TypeId::kDate32 ? TypeId::kInt32 : TypeId::kInt64);
}

Result<ExpressionPtr> cast(CallParts parts) {
  if (parts.arguments.size() != 1) return refuse(parts);
  const DataType from = parts.arguments[0]->type;
  const DataType to = parts.type;
  if (from == to) return parts.arguments[0];
  const auto is_plain = [](const DataType& type) {
    return is_integer(type) || is_real(type) || (is_decimal(type) && type.scale >= 0) ||
           is_instant(type) || type.id == TypeId::kBool;
  };
  if (parts.op == ExpressionOp::kToText) {
    const bool is_written = is_plain(from) || is_text(from);
    return is_written ? Result<ExpressionPtr>(node(parts, computed_string_type())) : refuse(parts);
  }
  if (parts.op == ExpressionOp::kParse || parts.op == ExpressionOp::kTryParse) {
    const bool is_read = is_text(from) && is_plain(to);
    return is_read ? Result<ExpressionPtr>(node(std::move(parts), to)) : refuse(parts);
  }
  if (is_real(from) && !is_real(to)) parts.op = ExpressionOp::kFromReal;
  bool fits = is_number(from);
  if (parts.op == ExpressionOp::kToReal) fits = fits && is_real(to);
  if (parts.op == ExpressionOp::kToInteger) {
    fits = (is_integer(from) && is_integer(to)) || counts_ticks(from, to) || counts_ticks(to, from);
  }
  if (parts.op == ExpressionOp::kToScale) {
    fits = (is_integer(from) || is_decimal(from)) && is_decimal(to) && to.scale >= 0 &&
           digits_of(from).scale >= 0;
  }
  if (parts.op == ExpressionOp::kFromReal) {
    fits = is_integer(to) || (is_decimal(to) && to.scale >= 0 && to.scale <= kMostRealScale);
  }
  if (!fits) return refuse(parts);
  return node(std::move(parts), to);
}

Result<ExpressionPtr> of_one(CallParts parts) {
  if (parts.arguments.size() != 1) return refuse(parts);
  const DataType& type = parts.arguments[0]->type;
  switch (parts.op) {
    case ExpressionOp::kNegate:
      if (!is_number(type) || is_unsigned_integer(type.id)) return refuse(parts);
      return node(parts, type);
    case ExpressionOp::kAbs:
      return is_number(type) ? Result<ExpressionPtr>(node(parts, type)) : refuse(parts);
    case ExpressionOp::kIsNull:
    case ExpressionOp::kIsValid:
      return node(parts, type_of("b"));
    case ExpressionOp::kYear:
    case ExpressionOp::kMonth:
    case ExpressionOp::kDay:
    case ExpressionOp::kWeekday:
      return is_instant(type) ? Result<ExpressionPtr>(node(parts, type_of("l"))) : refuse(parts);
    case ExpressionOp::kHour:
    case ExpressionOp::kMinute:
    case ExpressionOp::kSecond: {
      const bool fits = is_instant(type) && type.id == TypeId::kTimestamp;
      return fits ? Result<ExpressionPtr>(node(parts, type_of("l"))) : refuse(parts);
    }
    default:  // kToDate
      if (type.id == TypeId::kDate32) return parts.arguments[0];
      return is_instant(type) ? Result<ExpressionPtr>(node(parts, type_of("tdD"))) : refuse(parts);
  }
}

}  // namespace

Result<ExpressionPtr> types::bits_call(CallParts parts) {
  const bool is_of_one = parts.op == ExpressionOp::kBitNot || parts.op == ExpressionOp::kOneRow;
  const size_t takes = is_of_one ? 1 : 2;
  bool fits = parts.arguments.size() == takes;
  for (const ExpressionPtr& each : parts.arguments) fits = fits && is_integer(each->type);
  if (!fits) return refuse(parts);
  const DataType type = parts.arguments[0]->type;
  const bool shifts = parts.op == ExpressionOp::kShiftLeft || parts.op == ExpressionOp::kShiftRight;
  if (shifts || takes == 1) return node(std::move(parts), type);
  const std::optional<DataType> both = common_integer(type, parts.arguments[1]->type);
  if (!both) return refuse(parts);
  for (ExpressionPtr& each : parts.arguments) each = converted(each, *both);
  return node(std::move(parts), *both);
}

Result<ExpressionPtr> make_call(CallParts parts) {
  switch (parts.op) {
    case ExpressionOp::kAdd:
    case ExpressionOp::kSubtract:
    case ExpressionOp::kMultiply:
    case ExpressionOp::kDivide:
    case ExpressionOp::kFloorDivide:
    case ExpressionOp::kRemainder:
      return arithmetic(std::move(parts));
    case ExpressionOp::kEqual:
    case ExpressionOp::kNotEqual:
    case ExpressionOp::kLess:
    case ExpressionOp::kLessEqual:
    case ExpressionOp::kGreater:
    case ExpressionOp::kGreaterEqual:
      return comparison(std::move(parts));
    case ExpressionOp::kAnd:
    case ExpressionOp::kOr:
    case ExpressionOp::kNot: {
      const size_t operands = parts.op == ExpressionOp::kNot ? 1 : 2;
      bool fits = parts.arguments.size() == operands;
      for (const ExpressionPtr& each : parts.arguments) fits &= each->type.id == TypeId::kBool;
      if (!fits) return refuse(parts);
      return node(std::move(parts), type_of("b"));
    }
    case ExpressionOp::kIsIn:
      return membership(std::move(parts));
    case ExpressionOp::kStartsWith:
    case ExpressionOp::kEndsWith:
    case ExpressionOp::kContains:
    case ExpressionOp::kLike:
    case ExpressionOp::kLikeAnyCase:
    case ExpressionOp::kMatches:
      return string_test(std::move(parts));
    case ExpressionOp::kCase:
      return case_call(std::move(parts));
    case ExpressionOp::kCoalesce:
      return coalesce_call(std::move(parts));
    case ExpressionOp::kGreatest:
    case ExpressionOp::kLeast:
      return extreme_call(std::move(parts));
    case ExpressionOp::kToInteger:
    case ExpressionOp::kToScale:
    case ExpressionOp::kToReal:
    case ExpressionOp::kToText:
    case ExpressionOp::kFromReal:
    case ExpressionOp::kParse:
    case ExpressionOp::kTryParse:
      return cast(std::move(parts));
    default:
      return types::is_function(parts.op) ? types::function_call(std::move(parts))
                                          : of_one(std::move(parts));
  }
}

}  // namespace crossdock::expressions
