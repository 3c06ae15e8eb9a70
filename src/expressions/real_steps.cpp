// Arithmetic of float64s. Values of float32 are float64s that a float32 holds: each result is rounded
// to one, which for these operations is what float32 arithmetic gives (Figueroa, When is Double
// Rounding Innocuous?, SIGNUM Newsletter 30(3), 1995).
#include <algorithm>
#include <cmath>

#include "expressions/powers.hpp"
#include "expressions/step_frame.hpp"

namespace crossdock::expressions::steps {
namespace {

lanes::RealOp real_op(ExpressionOp op, bool reversed) {
  switch (op) {
    case ExpressionOp::kAdd:
      return lanes::RealOp::kAdd;
    case ExpressionOp::kSubtract:
      return reversed ? lanes::RealOp::kSubtractFrom : lanes::RealOp::kSubtract;
    case ExpressionOp::kMultiply:
      return lanes::RealOp::kMultiply;
    default:
      return reversed ? lanes::RealOp::kDivideInto : lanes::RealOp::kDivide;
  }
}

// The remainder has the sign of the divisor, as in Python.
double remainder_of(double x, double y) {
  const double rest = std::fmod(x, y);
  if (rest == 0) return std::copysign(rest, y);
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

// The whole number that belongs to this remainder, rounded to a double: floor(x / y) can be one more,
// since 5.0 / 0.1 is rounded up to 50.
double whole_quotient(double x, double y) {
  if (y == 0) return x / y;
  const double rest = std::fmod(x, y);
  double quotient = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, x / y);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

void convert(const Frame& frame, const Expression& from, const Value& value, double* out) {
  const int32_t count = frame.count;
  if (from.domain() == ValueDomain::kReal) {
    std::copy_n(value.real, count, out);
    return;
  }
  const double divisor =
      from.type.id == TypeId::kDecimal128 ? real_power_of_ten(from.type.scale) : 1.0;
  if (value.high == nullptr) return lanes::words_to_reals(value.low, divisor, count, out);
  for (int32_t i = 0; i < count; ++i) out[i] = integer_to_real(integer_at(value, i)) / divisor;
}

}  // namespace

void run_reals(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const Value& a = frame.argument(index, 0);
  Value& out = frame.open_value(index);
  double* to = frame.slot(index).real();
  out.real = to;
  switch (expression.op) {
    case ExpressionOp::kNegate:
      for (int32_t i = 0; i < frame.count; ++i) to[i] = -a.real[i];
      return;
    case ExpressionOp::kAbs:
      for (int32_t i = 0; i < frame.count; ++i) to[i] = std::fabs(a.real[i]);
      return;
    case ExpressionOp::kToReal:
      convert(frame, *expression.arguments[0], a, to);
      break;
    case ExpressionOp::kFloorDivide:
    case ExpressionOp::kRemainder: {
      const Value& b = frame.argument(index, 1);
      const auto combine =
          expression.op == ExpressionOp::kRemainder ? remainder_of : whole_quotient;
      for (int32_t i = 0; i < frame.count; ++i) {
        to[i] = combine(a.real[a.constant ? 0 : i], b.real[b.constant ? 0 : i]);
      }
      break;
    }
    default: {
      const Value& b = frame.argument(index, 1);
      const bool reversed = a.constant && !b.constant;
      const Value& last = reversed ? a : b;
      lanes::RealPair pair{reversed ? b.real : a.real, last.real, 0};
      if (last.constant) pair = {pair.a, nullptr, last.real[0]};
      lanes::combine_reals(real_op(expression.op, reversed), pair, frame.count, to);
    }
  }
  if (expression.type.id == TypeId::kFloat32) lanes::round_to_floats(to, frame.count);
}

}  // namespace crossdock::expressions::steps
