// Functions of numbers. Reals have NaN and infinities where there is no number, as divisions of them
// do; decimals that round up beyond their digits cannot be computed.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "expressions/powers.hpp"
#include "expressions/step_frame.hpp"

namespace crossdock::expressions::steps {
namespace {

template <class Function>
void map_reals(const Frame& frame, int32_t index, const Function& function) {
  const double* from = frame.argument(index, 0).real;
  double* to = frame.slot(index).real();
  for (int32_t i = 0; i < frame.count; ++i) to[i] = function(from[i]);
}

int32_t digits_of_round(const Expression& expression) {
  if (expression.arguments.size() < 2) return 0;
  return static_cast<int32_t>(expression.arguments[1]->values[0].integer);
}

// Moves the point of a number by so many digits.
double moved_by(double number, int32_t digits, double power) {
  return digits >= 0 ? number * power : number / power;
}

// The nearest whole number of a number whose point was moved. A half may be one only since the move has rounded: what
// was lost says on which side of it the number lies, and a half goes away from zero.
double nearest_whole(double moved, double number, int32_t digits, double power) {
  const double whole = std::trunc(moved);
  if (std::abs(moved - whole) != 0.5) return std::round(moved);
  const double lost =
      digits >= 0 ? std::fma(number, power, -moved) : std::fma(-moved, power, number);
  return lost != 0 && std::signbit(lost) != std::signbit(moved) ? whole : std::round(moved);
}

// The number is moved until its digits are whole ones. A number that leaves the range while it is moved has none.
void round_reals(const Frame& frame, int32_t index) {
  const int32_t digits = digits_of_round(*frame.step(index).expression);
  const double power = real_power_of_ten(std::abs(digits));
  const bool truncates = frame.step(index).expression->op == ExpressionOp::kTrunc;
  const double* from = frame.argument(index, 0).real;
  double* to = frame.slot(index).real();
  Value& out = frame.values[index];
  for (int32_t i = 0; i < frame.count; ++i) {
    to[i] = from[i];
    if (!std::isfinite(from[i])) continue;
    const double moved = moved_by(from[i], digits, power);
    if (moved == std::floor(moved) && std::isfinite(moved)) continue;
    const double whole =
        truncates ? std::trunc(moved) : nearest_whole(moved, from[i], digits, power);
    to[i] = moved_by(whole, -digits, power);
    if (!std::isfinite(to[i])) frame.poison(index, out, i);
  }
}

template <class Function>
void map_pairs(const Frame& frame, int32_t index, const Function& function) {
  const double* a = frame.argument(index, 0).real;
  const double* b = frame.argument(index, 1).real;
  double* to = frame.slot(index).real();
  for (int32_t i = 0; i < frame.count; ++i) to[i] = function(a[i], b[i]);
}

double power(double base, double exponent) { return std::pow(base, exponent); }
double arc_tangent(double y, double x) { return std::atan2(y, x); }

void run_angle(const Frame& frame, int32_t index) {
  constexpr double kRadian = 180 / std::numbers::pi;  // in degrees
  constexpr double kDegree = std::numbers::pi / 180;
  switch (frame.step(index).expression->op) {
    case ExpressionOp::kSin:
      return map_reals(frame, index, [](double x) { return std::sin(x); });
    case ExpressionOp::kCos:
      return map_reals(frame, index, [](double x) { return std::cos(x); });
    case ExpressionOp::kTan:
      return map_reals(frame, index, [](double x) { return std::tan(x); });
    case ExpressionOp::kAsin:
      return map_reals(frame, index, [](double x) { return std::asin(x); });
    case ExpressionOp::kAcos:
      return map_reals(frame, index, [](double x) { return std::acos(x); });
    case ExpressionOp::kAtan:
      return map_reals(frame, index, [](double x) { return std::atan(x); });
    case ExpressionOp::kCbrt:
      return map_reals(frame, index, [](double x) { return std::cbrt(x); });
    case ExpressionOp::kDegrees:
      return map_reals(frame, index, [](double x) { return x * kRadian; });
    default:  // kRadians
      return map_reals(frame, index, [](double x) { return x * kDegree; });
  }
}

void run_real_function(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  frame.values[index].real = frame.slot(index).real();
  switch (expression.op) {
    case ExpressionOp::kSqrt:
      return map_reals(frame, index, [](double x) { return std::sqrt(x); });
    case ExpressionOp::kExp:
      return map_reals(frame, index, [](double x) { return std::exp(x); });
    case ExpressionOp::kLn:
      return map_reals(frame, index, [](double x) { return std::log(x); });
    case ExpressionOp::kLog2:
      return map_reals(frame, index, [](double x) { return std::log2(x); });
    case ExpressionOp::kLog10:
      return map_reals(frame, index, [](double x) { return std::log10(x); });
    case ExpressionOp::kFloor:
      return map_reals(frame, index, [](double x) { return std::floor(x); });
    case ExpressionOp::kCeil:
      return map_reals(frame, index, [](double x) { return std::ceil(x); });
    case ExpressionOp::kRoundEven:
      return map_reals(frame, index, [](double x) { return std::nearbyint(x); });
    case ExpressionOp::kSign:
      return map_reals(frame, index, [](double x) {
        return x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : x;
      });
    case ExpressionOp::kRound:
    case ExpressionOp::kTrunc:
      return round_reals(frame, index);
    case ExpressionOp::kPower:
    case ExpressionOp::kAtan2:
      return map_pairs(frame, index, expression.op == ExpressionOp::kPower ? power : arc_tangent);
    default:
      return run_angle(frame, index);
  }
}

// A multiple of `unit` near the value.
Int128 rounded(ExpressionOp op, Int128 value, Int128 unit) {
  const Int128 rest = value % unit;
  const Int128 towards_zero = value - rest;
  switch (op) {
    case ExpressionOp::kFloor:
      return rest < 0 ? towards_zero - unit : towards_zero;
    case ExpressionOp::kCeil:
      return rest > 0 ? towards_zero + unit : towards_zero;
    case ExpressionOp::kTrunc:
      return towards_zero;
    default:
      if (rest >= unit - rest) return towards_zero + unit;
      return -rest >= unit + rest ? towards_zero - unit : towards_zero;
  }
}

// The same of words, of which `rest` is left where they are rounded down.
template <ExpressionOp op>
int64_t rounded_word(int64_t value, int64_t rest, int64_t unit) {
  const int64_t below = value - rest;
  const int64_t above = below + (rest != 0 ? unit : 0);
  if constexpr (op == ExpressionOp::kFloor) return below;
  if constexpr (op == ExpressionOp::kCeil) return above;
  if constexpr (op == ExpressionOp::kTrunc) return value < 0 ? above : below;
  return rest + (value >= 0 ? rest : rest - 1) >= unit ? above : below;  // halves go away from zero
}

// Words in place of what is left of `values` where they are rounded down. False: one is beyond the range.
template <ExpressionOp op>
bool round_all(const uint64_t* values,
               int32_t count,
               int64_t unit,
               const IntegerRange& range,
               uint64_t* words) {
  int64_t least = 0;
  int64_t most = 0;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t value =
        rounded_word<op>(static_cast<int64_t>(values[i]), static_cast<int64_t>(words[i]), unit);
    least = std::min(least, value);
    most = std::max(most, value);
    words[i] = static_cast<uint64_t>(value);
  }
  return least >= range.min && most <= range.max;
}

// Of words that doubles hold, which most decimals are. False: others are among them, or in the result.
bool round_words(const Frame& frame, int32_t index, Int128 unit, const IntegerRange& range) {
  constexpr int32_t kUnitBitsMost = 51;
  if (unit >= Int128{1} << kUnitBitsMost) return false;
  const auto word_unit = static_cast<int64_t>(unit);
  Value& a = frame.argument(index, 0);
  uint64_t words[kBlockRows];
  if (!divide_words(lanes::WordOp::kRemainder, a, word_unit, frame.count, words)) return false;
  const auto fits = [&] {
    switch (frame.step(index).expression->op) {
      case ExpressionOp::kFloor:
        return round_all<ExpressionOp::kFloor>(a.low, frame.count, word_unit, range, words);
      case ExpressionOp::kCeil:
        return round_all<ExpressionOp::kCeil>(a.low, frame.count, word_unit, range, words);
      case ExpressionOp::kTrunc:
        return round_all<ExpressionOp::kTrunc>(a.low, frame.count, word_unit, range, words);
      default:
        return round_all<ExpressionOp::kRound>(a.low, frame.count, word_unit, range, words);
    }
  };
  if (!fits()) return false;
  const Slot slot = frame.slot(index);
  std::copy_n(words, frame.count, slot.low);
  Value& out = frame.values[index];
  out.low = slot.low;
  out.bits_known = false;
  return true;
}

void round_decimals(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const Int128 unit = power_of_ten(expression.type.scale - digits_of_round(expression));
  const IntegerRange range = integer_range(expression.type);
  if (round_words(frame, index, unit, range)) return;
  const Value& a = frame.argument(index, 0);
  const Slot slot = frame.slot(index);
  Value& out = frame.values[index];
  out.low = slot.low;
  out.high = slot.high;
  out.bits = 127;
  for (int32_t i = 0; i < frame.count; ++i) {
    const Int128 of = integer_at(a, i);
    Int128 value = 0;  // rows without value hold anything, also what cannot be rounded
    if (of >= range.min && of <= range.max) value = rounded(expression.op, of, unit);
    if (value < range.min || value > range.max) {
      frame.poison(index, out, i);
      value = 0;
    }
    slot.low[i] = static_cast<uint64_t>(value);
    slot.high[i] = static_cast<uint64_t>(value >> 64);
  }
}

void sign_of_integers(const Frame& frame, int32_t index) {
  const Value& a = frame.argument(index, 0);
  uint64_t* to = frame.slot(index).low;
  for (int32_t i = 0; i < frame.count; ++i) {
    const Int128 value = integer_at(a, i);
    to[i] =
        static_cast<uint64_t>(static_cast<int64_t>(value > 0) - static_cast<int64_t>(value < 0));
  }
  frame.values[index].low = to;
  frame.values[index].bits = 1;
}

}  // namespace

void run_number(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  Value& out = frame.open_value(index);
  if (expression.op == ExpressionOp::kIsNan) {
    const double* from = frame.argument(index, 0).real;
    uint8_t* to = frame.slot(index).bytes();
    for (int32_t i = 0; i < frame.count; ++i) to[i] = from[i] != from[i] ? 1 : 0;
    out.bytes = to;
    return;
  }
  if (expression.domain() == ValueDomain::kReal) return run_real_function(frame, index);
  if (expression.op == ExpressionOp::kSign) return sign_of_integers(frame, index);
  round_decimals(frame, index);
}

}  // namespace crossdock::expressions::steps
