// What the types of calls are made of. Internal to the room.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "expressions/expression.hpp"

namespace crossdock::expressions::types {

constexpr int32_t kDecimalDigits = 38;
// Of decimals that reals become: 53 bits times this power of ten fit 128 bits.
constexpr int32_t kMostRealScale = 22;

inline DataType type_of(std::string_view format) {
  Result<DataType> parsed = parse_arrow_format(format);
  CD_CHECK(parsed.ok(), "{}", format);
  return parsed.value();
}

inline DataType decimal_type(int32_t precision, int32_t scale) {
  return type_of(fmt::format("d:{},{}", precision, scale));
}

inline bool is_integer(const DataType& type) {
  return is_signed_integer(type.id) || is_unsigned_integer(type.id);
}
inline bool is_decimal(const DataType& type) { return type.id == TypeId::kDecimal128; }
inline bool is_real(const DataType& type) {
  return type.id == TypeId::kFloat32 || type.id == TypeId::kFloat64;
}
inline bool is_exact(const DataType& type) {
  return is_integer(type) || (is_decimal(type) && type.scale >= 0);
}
inline bool is_number(const DataType& type) {
  return is_integer(type) || is_decimal(type) || is_real(type);
}
inline bool is_text(const DataType& type) {
  return is_string(type.id) || (type.id == TypeId::kDictionary && is_string(type.dictionary->id));
}
inline bool is_instant(const DataType& type) {
  return type.id == TypeId::kDate32 || (type.id == TypeId::kTimestamp && type.timezone.empty());
}

// Precision and scale of a decimal, or of an integer read as one.
struct Digits {
  int32_t precision;
  int32_t scale;
};
inline Digits digits_of(const DataType& type) {
  if (is_decimal(type)) return {type.precision, type.scale};
  if (type.id == TypeId::kUInt64) return {20, 0};
  constexpr int32_t kOfBytes[] = {0, 3, 5, 0, 10, 0, 0, 0, 19};
  return {kOfBytes[fixed_bytes(type)], 0};
}

inline Error refuse(const CallParts& parts) {
  std::string types;
  for (const ExpressionPtr& argument : parts.arguments) {
    types += (types.empty() ? "" : ", ") + type_name(argument->type);
  }
  return make_error(
      ErrorCode::kUnsupportedType, "{} does not compute with {}", op_name(parts.op), types);
}

inline ExpressionPtr node(CallParts parts, DataType type) {
  auto expression = std::make_shared<Expression>();
  expression->op = parts.op;
  expression->type = std::move(type);
  expression->values = std::move(parts.values);
  expression->arguments = std::move(parts.arguments);
  return expression;
}

// `value` in a type that holds all its values.
ExpressionPtr converted(const ExpressionPtr& value, const DataType& type);

// A call of kBitAnd ... kLcm. The error of make_call.
Result<ExpressionPtr> bits_call(CallParts parts);

// Error kInvalidArgument for a `values[0]` that is no regular expression, or a group of it that there is not.
Status check_regular(const CallParts& parts);

constexpr bool is_of_json(ExpressionOp op) {
  return op >= ExpressionOp::kJsonExtract && op <= ExpressionOp::kJsonValid;
}

constexpr bool is_of_bits(ExpressionOp op) {
  return op >= ExpressionOp::kBitAnd && op <= ExpressionOp::kOneRow;
}

// Functions of values that take no part in choices: kLength ... kAddMonths.
constexpr bool is_function(ExpressionOp op) {
  return op >= ExpressionOp::kLength && op <= ExpressionOp::kAddMonths &&
         op != ExpressionOp::kGreatest && op != ExpressionOp::kLeast;
}

// A call of such a function. The error of make_call.
Result<ExpressionPtr> function_call(CallParts parts);

}  // namespace crossdock::expressions::types
