// Arithmetic of integers and decimals.
//
// The bounds of both sides say which loop is safe: in 64 bits without any check, in 128 bits without
// one, or checked row by row. Whether results fit their type is looked at only where the bound of the
// result passes it. A decimal price times a discount of a few digits stays in 64 bits throughout.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.hpp"
#include "expressions/checked_writer.hpp"
#include "expressions/powers.hpp"
#include "expressions/step_frame.hpp"

namespace crossdock::expressions::steps {
namespace {

constexpr int32_t kWideBits = 127;

// Every value of [-2^bits, 2^bits) is in the range. Of unsigned types only by `never_negative`.
bool holds_bits(const IntegerRange& range, int32_t bits) {
  if (bits >= kWideBits) return false;
  const Int128 limit = static_cast<Int128>(1) << bits;
  return range.max >= limit - 1 && (range.min == 0 || range.min <= -limit);
}

// Looks at the results in `out`, whose bound passes their type.
void check_range(const Frame& frame, int32_t index, Value& out, const IntegerRange& range) {
  CheckedWriter writer(frame, index, out, range);
  for (int32_t i = 0; i < frame.count; ++i) writer.put(i, integer_at(out, i), false);
  writer.finish();
}

struct AddOp {
  static constexpr lanes::WordOp kWords = lanes::WordOp::kAdd;
  static int32_t bits(int32_t a, int32_t b) { return std::max(a, b) + 1; }
  static bool fails(Int128 a, Int128 b, Int128* out) { return __builtin_add_overflow(a, b, out); }
};
struct SubtractOp {
  static constexpr lanes::WordOp kWords = lanes::WordOp::kSubtract;
  static int32_t bits(int32_t a, int32_t b) { return std::max(a, b) + 1; }
  static bool fails(Int128 a, Int128 b, Int128* out) { return __builtin_sub_overflow(a, b, out); }
};
struct MultiplyOp {
  static constexpr lanes::WordOp kWords = lanes::WordOp::kMultiply;
  static int32_t bits(int32_t a, int32_t b) { return a + b + 1; }
  static bool fails(Int128 a, Int128 b, Int128* out) { return __builtin_mul_overflow(a, b, out); }
};

// Both sides in one word each, and so the results. A constant goes last, as the loops want it.
template <class Op>
void combine_narrow(const Frame& frame, const Value& a, const Value& b, uint64_t* out) {
  if (b.constant)
    return lanes::combine_words(Op::kWords, {a.low, nullptr, b.low[0]}, frame.count, out);
  if (!a.constant) return lanes::combine_words(Op::kWords, {a.low, b.low, 0}, frame.count, out);
  const bool reversed = Op::kWords == lanes::WordOp::kSubtract;
  const lanes::WordOp op = reversed ? lanes::WordOp::kSubtractFrom : Op::kWords;
  lanes::combine_words(op, {b.low, nullptr, a.low[0]}, frame.count, out);
}

template <class Op>
void combine(const Frame& frame, int32_t index, Value& a, Value& b) {
  const DataType& type = frame.step(index).expression->type;
  Value& out = frame.open_value(index);
  const IntegerRange range = integer_range(type);
  // Differences of unsigned numbers may be below zero whatever their bounds.
  const bool may_be_negative = range.min == 0 && Op::kWords == lanes::WordOp::kSubtract;
  const int32_t bits = Op::bits(known_bits(a, frame.count), known_bits(b, frame.count));
  if (bits <= kWordBits && a.high == nullptr && b.high == nullptr) {
    const Slot slot = frame.slot(index);
    combine_narrow<Op>(frame, a, b, slot.low);
    out.low = slot.low;
    out.bits = bits;
    if (may_be_negative || !holds_bits(range, bits)) check_range(frame, index, out, range);
    return;
  }
  CheckedWriter writer(frame, index, out, range);
  for (int32_t i = 0; i < frame.count; ++i) {
    Int128 result = 0;
    const bool failed = Op::fails(integer_at(a, i), integer_at(b, i), &result);
    writer.put(i, result, failed);
  }
  writer.finish();
}

Int128 floor_quotient(Int128 a, Int128 b) {
  const Int128 quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// By a constant, of words that doubles hold. False: they are wider.
bool divide_by_constant(const Frame& frame, int32_t index, bool remainder) {
  Value& a = frame.argument(index, 0);
  const Value& b = frame.argument(index, 1);
  if (b.high != nullptr || !b.constant || b.low[0] == 0) return false;
  const auto divisor = static_cast<int64_t>(b.low[0]);
  Value& out = frame.values[index];
  const Slot slot = frame.slot(index);
  const auto op = remainder ? lanes::WordOp::kRemainder : lanes::WordOp::kQuotient;
  if (!divide_words(op, a, divisor, frame.count, slot.low)) return false;
  out.low = slot.low;
  out.bits = remainder ? bits_of(magnitude_of(divisor)) : a.bits + (divisor == -1 ? 1 : 0);
  const IntegerRange range = integer_range(frame.step(index).expression->type);
  if (!holds_bits(range, out.bits)) check_range(frame, index, out, range);
  return true;
}

// Division by -1 is a negation: the only quotient that overflows.
void divide(const Frame& frame, int32_t index, bool remainder) {
  const Value& a = frame.argument(index, 0);
  const Value& b = frame.argument(index, 1);
  Value& out = frame.open_value(index);
  if (divide_by_constant(frame, index, remainder)) return;
  CheckedWriter writer(frame, index, out, integer_range(frame.step(index).expression->type));
  const bool narrow = a.high == nullptr && b.high == nullptr;
  for (int32_t i = 0; i < frame.count; ++i) {
    const Int128 x = integer_at(a, i);
    const Int128 y = integer_at(b, i);
    Int128 quotient = 0;
    if (y == -1) {
      quotient = -x;
    } else if (y != 0 && narrow) {
      const auto x64 = static_cast<int64_t>(x);
      const auto y64 = static_cast<int64_t>(y);
      quotient = x64 / y64 - (x64 % y64 != 0 && (x64 < 0) != (y64 < 0) ? 1 : 0);
    } else if (y != 0) {
      quotient = floor_quotient(x, y);
    }
    writer.put(i, remainder ? x - quotient * y : quotient, y == 0);
  }
  writer.finish();
}

void negate(const Frame& frame, int32_t index, bool only_negative) {
  const Value& a = frame.argument(index, 0);
  Value& out = frame.open_value(index);
  CheckedWriter writer(frame, index, out, integer_range(frame.step(index).expression->type));
  for (int32_t i = 0; i < frame.count; ++i) {
    const Int128 value = integer_at(a, i);
    const bool turned = !only_negative || value < 0;
    Int128 result = value;
    const bool failed = turned && __builtin_sub_overflow(Int128{0}, value, &result);
    writer.put(i, result, failed);
  }
  writer.finish();
}

// The same integers under another type.
void relabel(const Frame& frame, int32_t index) {
  Value& a = frame.argument(index, 0);
  Value& out = frame.open_value(index);
  const Slot slot = frame.slot(index);
  std::copy_n(a.low, frame.count, slot.low);
  out.low = slot.low;
  if (a.high != nullptr) std::copy_n(a.high, frame.count, slot.high);
  out.high = a.high != nullptr ? slot.high : nullptr;
  out.bits = known_bits(a, frame.count);
  const IntegerRange range = integer_range(frame.step(index).expression->type);
  const bool may_be_negative =
      range.min == 0 && !is_unsigned_integer(frame.step(index).expression->arguments[0]->type.id);
  if (may_be_negative || !holds_bits(range, out.bits)) check_range(frame, index, out, range);
}

// Divided by a power of ten, of words that doubles hold and that leave nothing. False: others are among them.
bool divide_evenly(const Frame& frame, int32_t index, int64_t power) {
  Value& a = frame.argument(index, 0);
  uint64_t quotients[kBlockRows];
  if (!divide_words(lanes::WordOp::kQuotient, a, power, frame.count, quotients)) return false;
  uint64_t left = 0;
  for (int32_t i = 0; i < frame.count; ++i) {
    left |= a.low[i] - quotients[i] * static_cast<uint64_t>(power);
  }
  if (left != 0) return false;
  const Slot slot = frame.slot(index);
  std::copy_n(quotients, frame.count, slot.low);
  Value& out = frame.values[index];
  out.low = slot.low;
  out.bits = a.bits;
  const IntegerRange range = integer_range(frame.step(index).expression->type);
  if (!holds_bits(range, out.bits)) check_range(frame, index, out, range);
  return true;
}

// Times or divided by a power of ten.
void rescale(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const DataType& from = expression.arguments[0]->type;
  const int32_t shift = expression.type.scale - (from.id == TypeId::kDecimal128 ? from.scale : 0);
  if (shift == 0) return relabel(frame, index);
  Value& a = frame.argument(index, 0);
  const Int128 power = power_of_ten(std::abs(shift));
  Value factor;
  factor.constant = true;
  const uint64_t word = static_cast<uint64_t>(power);
  factor.low = &word;
  factor.bits = bits_of(static_cast<UInt128>(power));
  // `factor` has a value for one row only, which narrow loops alone content themselves with.
  const bool narrow = shift > 0 && a.high == nullptr && factor.bits <= kWordBits &&
                      MultiplyOp::bits(known_bits(a, frame.count), factor.bits) <= kWordBits;
  if (narrow) return combine<MultiplyOp>(frame, index, a, factor);
  Value& out = frame.open_value(index);
  const bool is_word = factor.bits <= kWordBits;
  if (shift < 0 && is_word && divide_evenly(frame, index, static_cast<int64_t>(power))) return;
  CheckedWriter writer(frame, index, out, integer_range(expression.type));
  for (int32_t i = 0; i < frame.count; ++i) {
    const Int128 value = integer_at(a, i);
    Int128 result = value / power;
    bool failed = value % power != 0;
    if (shift > 0) failed = __builtin_mul_overflow(value, power, &result);
    writer.put(i, result, failed);
  }
  writer.finish();
}

// The integer next to a number times `power`, halves to the even one. None of what is no number, or beyond 10^38.
std::optional<Int128> nearest_integer(double real, Int128 power) {
  constexpr double kLimit = 1e38;
  constexpr double kExact = 0x1p52;
  constexpr int32_t kMantissaBits = 53;
  const double product = real * static_cast<double>(power);
  const double whole = std::nearbyint(product);
  // The product is off by less than this: apart from halves that does not change what is next to it.
  const double error = std::fabs(product) * 0x1p-52;
  if (std::fabs(product) < kExact && std::fabs(product - whole) + error < 0.5) {
    return static_cast<int64_t>(whole);
  }
  if (!(std::fabs(real) < kLimit)) return std::nullopt;
  int32_t exponent = 0;
  const double mantissa = std::ldexp(std::frexp(real, &exponent), kMantissaBits);
  exponent -= kMantissaBits;
  const Int128 digits = Int128{static_cast<int64_t>(mantissa)} * power;
  if (exponent >= 0) {
    Int128 moved = 0;
    if (__builtin_mul_overflow(digits, Int128{1} << exponent, &moved)) return std::nullopt;
    return moved;
  }
  if (exponent <= -kWideBits) return 0;  // below a half
  const Int128 unit = Int128{1} << -exponent;
  const Int128 below = digits >> -exponent;
  const Int128 twice_behind = (digits - below * unit) * 2;
  const bool rounds_up = twice_behind > unit || (twice_behind == unit && (below & 1) != 0);
  return below + (rounds_up ? 1 : 0);
}

void from_reals(const Frame& frame, int32_t index) {
  const DataType& type = frame.step(index).expression->type;
  const bool is_decimal = type.id == TypeId::kDecimal128;
  const Int128 power = power_of_ten(is_decimal ? type.scale : 0);
  const double* reals = frame.argument(index, 0).real;
  CheckedWriter writer(frame, index, frame.open_value(index), integer_range(type));
  for (int32_t i = 0; i < frame.count; ++i) {
    const std::optional<Int128> value = nearest_integer(reals[i], power);
    const bool failed = !value || (!is_decimal && reals[i] != std::trunc(reals[i]));
    writer.put(i, value.value_or(0), failed);
  }
  writer.finish();
}

}  // namespace

void run_integers(const Frame& frame, int32_t index) {
  const auto argument = [&](int32_t position) -> Value& { return frame.argument(index, position); };
  switch (frame.step(index).expression->op) {
    case ExpressionOp::kAdd:
      return combine<AddOp>(frame, index, argument(0), argument(1));
    case ExpressionOp::kSubtract:
      return combine<SubtractOp>(frame, index, argument(0), argument(1));
    case ExpressionOp::kMultiply:
      return combine<MultiplyOp>(frame, index, argument(0), argument(1));
    case ExpressionOp::kFloorDivide:
      return divide(frame, index, false);
    case ExpressionOp::kRemainder:
      return divide(frame, index, true);
    case ExpressionOp::kNegate:
      return negate(frame, index, false);
    case ExpressionOp::kAbs:
      return negate(frame, index, true);
    case ExpressionOp::kToScale:
      return rescale(frame, index);
    case ExpressionOp::kToInteger:
      return relabel(frame, index);
    case ExpressionOp::kFromReal:
      return from_reals(frame, index);
    default:
      CD_CHECK(false, "op {}", static_cast<int>(frame.step(index).expression->op));
  }
}

}  // namespace crossdock::expressions::steps
