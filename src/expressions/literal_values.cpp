#include "expressions/literal_values.hpp"

#include <limits>
#include <optional>

#include "expressions/powers.hpp"

namespace crossdock::expressions {
namespace {

constexpr size_t kShownBytes = 80;
constexpr size_t kMostDigits = 38;

std::string shown(const GivenLiteral& given) {
  if (const auto* flag = std::get_if<bool>(&given)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&given)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&given)) return fmt::format("{}", *real);
  if (const auto* string = std::get_if<std::string>(&given)) {
    return fmt::format("'{}'", string->substr(0, kShownBytes));
  }
  return "null";
}

std::optional<Int128> integer_of(const GivenLiteral& given) {
  if (const auto* integer = std::get_if<int64_t>(&given)) return *integer;
  const auto* digits = std::get_if<std::string>(&given);
  if (digits == nullptr) return std::nullopt;
  const size_t first = digits->starts_with('-') ? 1 : 0;
  if (digits->size() == first || digits->size() > first + kMostDigits) return std::nullopt;
  Int128 value = 0;
  for (size_t i = first; i < digits->size(); ++i) {
    const char digit = (*digits)[i];
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + (digit - '0');
  }
  return first == 1 ? -value : value;
}

std::optional<double> real_of(const GivenLiteral& given) {
  if (const auto* integer = std::get_if<int64_t>(&given)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&given)) return *real;
  const auto* name = std::get_if<std::string>(&given);
  if (name == nullptr) return std::nullopt;
  if (*name == "inf") return std::numeric_limits<double>::infinity();
  if (*name == "-inf") return -std::numeric_limits<double>::infinity();
  if (*name == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

bool fits(Int128 value, const DataType& type) {
  if (type.id == TypeId::kDecimal128) {
    const Int128 limit = power_of_ten(type.precision);
    return value > -limit && value < limit;
  }
  const int32_t bits = 8 * fixed_bytes(type);
  if (is_unsigned_integer(type.id)) return value >= 0 && value < static_cast<Int128>(1) << bits;
  const Int128 limit = static_cast<Int128>(1) << (bits - 1);
  return value >= -limit && value < limit;
}

std::optional<ExpressionOp> called_function(const std::string& name, const DataType& type) {
  if (name == "written") return ExpressionOp::kToText;
  if (name == "parsed_as") return ExpressionOp::kParse;
  if (name == "try_parsed_as") return ExpressionOp::kTryParse;
  if (name != "cast") return find_function(name);
  if (type.id == TypeId::kDecimal128) return ExpressionOp::kToScale;
  if (is_string(type.id)) return ExpressionOp::kToText;
  return is_floating(type.id) ? ExpressionOp::kToReal : ExpressionOp::kToInteger;
}

}  // namespace

Result<LiteralValue> literal_value(const GivenLiteral& given, const DataType& type) {
  CD_ASSIGN(const ValueDomain domain, value_domain(type));
  LiteralValue value;
  value.null = std::holds_alternative<std::monostate>(given);
  if (value.null) return value;
  switch (domain) {
    case ValueDomain::kBool:
      if (const auto* flag = std::get_if<bool>(&given)) {
        value.integer = *flag ? 1 : 0;
        return value;
      }
      break;
    case ValueDomain::kText:
      if (const auto* string = std::get_if<std::string>(&given)) {
        value.text = *string;
        return value;
      }
      break;
    case ValueDomain::kReal:
      if (const std::optional<double> real = real_of(given)) {
        value.real = type.id == TypeId::kFloat32 ? static_cast<float>(*real) : *real;
        return value;
      }
      break;
    case ValueDomain::kInteger:
      if (const auto integer = integer_of(given); integer && fits(*integer, type)) {
        value.integer = *integer;
        return value;
      }
      break;
  }
  return make_error(
      ErrorCode::kInvalidArgument, "not an expression: {} is no {}", shown(given), type_name(type));
}

Result<ExpressionPtr> given_literal(const GivenLiteral& given, const DataType& type) {
  CD_ASSIGN(LiteralValue value, literal_value(given, type));
  return make_literal(is_string(type.id) ? computed_string_type() : type, std::move(value));
}

Result<ExpressionPtr> given_call(GivenCall call) {
  const std::optional<ExpressionOp> op = called_function(call.function, call.type);
  if (!op) {
    return make_error(ErrorCode::kInvalidArgument,
                      "not an expression: no function '{}'",
                      call.function.substr(0, kShownBytes));
  }
  CallParts parts{*op, std::move(call.arguments), {}, std::move(call.type)};
  if (!call.values.empty() && parts.arguments.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "not an expression: {} has values and no argument",
                      call.function);
  }
  for (const GivenLiteral& given : call.values) {
    CD_ASSIGN(LiteralValue value, literal_value(given, parts.arguments[0]->type));
    if (value.null) {
      return make_error(ErrorCode::kInvalidArgument,
                        "not an expression: null among the values of {}",
                        call.function);
    }
    parts.values.push_back(std::move(value));
  }
  return make_call(std::move(parts));
}

}  // namespace crossdock::expressions
