// Bits of integers, as two's complement has them, and common divisors and multiples.

#include "expressions/step_frame.hpp"

namespace crossdock::expressions::steps {
namespace {

// Writes what `combine` makes of each row; a value outside the type, or a `combine` that answers false, poisons.
template <class Combine>
void combine_rows(const Frame& frame, int32_t index, const Combine& combine) {
  const IntegerRange range = integer_range(frame.step(index).expression->type);
  const Value& a = frame.argument(index, 0);
  const Value& b = frame.argument(index, frame.step(index).arguments.size() > 1 ? 1 : 0);
  const Slot slot = frame.slot(index);
  Value& out = frame.values[index];
  uint64_t any_high = 0;
  for (int32_t i = 0; i < frame.count; ++i) {
    Int128 value = 0;
    if (!combine(integer_at(a, i), integer_at(b, i), &value) || value < range.min ||
        value > range.max) [[unlikely]] {
      frame.poison(index, out, i);
      value = 0;
    }
    slot.low[i] = static_cast<uint64_t>(value);
    slot.high[i] = static_cast<uint64_t>(value >> 64);
    any_high |= slot.high[i] ^ static_cast<uint64_t>(static_cast<int64_t>(slot.low[i]) >> 63);
  }
  out.low = slot.low;
  out.high = any_high == 0 ? nullptr : slot.high;
  out.bits_known = any_high != 0;
  out.bits = any_high != 0 ? 64 : 63;
}

template <class Combine>
void combine_words(const Frame& frame, int32_t index, const Combine& combine) {
  const Value& a = frame.argument(index, 0);
  const Value& b = frame.argument(index, 1);
  if (a.high != nullptr || b.high != nullptr) {
    return combine_rows(frame, index, [&](Int128 x, Int128 y, Int128* to) {
      *to = combine(x, y);
      return true;
    });
  }
  uint64_t* to = frame.slot(index).low;
  for (int32_t i = 0; i < frame.count; ++i) to[i] = combine(a.low[i], b.low[i]);
  Value& out = frame.values[index];
  out.low = to;
  out.bits_known = false;
}

// An integer that is shifted out of its type, and shifts by negative numbers, are errors; 0 stays 0.
bool shift_left(Int128 x, Int128 by, int32_t bits, Int128* to) {
  if (x < 0 || by < 0 || (by >= bits && x != 0)) return false;
  *to = x == 0 ? Int128{0} : x << static_cast<int>(by);
  return true;
}

Int128 common_divisor(Int128 x, Int128 y) {
  const auto absolute = [](Int128 value) {
    return value < 0 ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  };
  // Magnitudes of integers have 64 bits at most, which divide several times as fast as 128.
  auto a = static_cast<uint64_t>(absolute(x));
  auto b = static_cast<uint64_t>(absolute(y));
  while (b != 0) {
    a %= b;
    std::swap(a, b);
  }
  return a;
}

bool common_multiple(Int128 x, Int128 y, Int128* to) {
  const Int128 divisor = common_divisor(x, y);
  if (divisor == 0) return true;
  if (__builtin_mul_overflow(x / divisor, y, to)) return false;
  if (*to < 0) *to = -*to;
  return true;
}

void run_shift(const Frame& frame, int32_t index, int32_t bits) {
  if (frame.step(index).expression->op == ExpressionOp::kShiftLeft) {
    return combine_rows(
        frame, index, [=](Int128 x, Int128 by, Int128* to) { return shift_left(x, by, bits, to); });
  }
  combine_rows(frame, index, [=](Int128 x, Int128 by, Int128* to) {
    *to = by < 0 || by >= bits ? Int128{0} : x >> static_cast<int>(by);
    return true;
  });
}

}  // namespace

void run_bits(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  frame.open_value(index);
  switch (expression.op) {
    case ExpressionOp::kBitAnd:
      return combine_words(frame, index, [](auto x, auto y) { return x & y; });
    case ExpressionOp::kBitOr:
      return combine_words(frame, index, [](auto x, auto y) { return x | y; });
    case ExpressionOp::kBitXor:
      return combine_words(frame, index, [](auto x, auto y) { return x ^ y; });
    case ExpressionOp::kBitNot: {
      const Int128 all =
          is_unsigned_integer(expression.type.id) ? integer_range(expression.type).max : Int128{-1};
      return combine_rows(frame, index, [=](Int128 x, Int128, Int128* to) {
        *to = x ^ all;
        return true;
      });
    }
    case ExpressionOp::kGcd:
      return combine_rows(frame, index, [](Int128 x, Int128 y, Int128* to) {
        *to = common_divisor(x, y);
        return true;
      });
    case ExpressionOp::kLcm:
      return combine_rows(frame, index, common_multiple);
    case ExpressionOp::kOneRow:
      return combine_rows(frame, index, [](Int128 rows, Int128, Int128* to) {
        *to = rows;
        return rows <= 1;
      });
    default:
      return run_shift(frame, index, 8 * fixed_bytes(expression.type));
  }
}

}  // namespace crossdock::expressions::steps
