// Comparisons, in-lists, logic of three values, and choices.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "expressions/powers.hpp"
#include "expressions/step_frame.hpp"
#include "expressions/string_lanes.hpp"

namespace crossdock::expressions::steps {
namespace {

lanes::CompareOp compare_op(ExpressionOp op) {
  return static_cast<lanes::CompareOp>(static_cast<int>(op) -
                                       static_cast<int>(ExpressionOp::kEqual));
}
static_assert(static_cast<int>(lanes::CompareOp::kGreaterEqual) ==
              static_cast<int>(ExpressionOp::kGreaterEqual) -
                  static_cast<int>(ExpressionOp::kEqual));

// a op b is b turned(op) a.
lanes::CompareOp turned(lanes::CompareOp op) {
  switch (op) {
    case lanes::CompareOp::kLess:
      return lanes::CompareOp::kGreater;
    case lanes::CompareOp::kLessEqual:
      return lanes::CompareOp::kGreaterEqual;
    case lanes::CompareOp::kGreater:
      return lanes::CompareOp::kLess;
    case lanes::CompareOp::kGreaterEqual:
      return lanes::CompareOp::kLessEqual;
    default:
      return op;
  }
}

template <class T>
bool holds(lanes::CompareOp op, T a, T b) {
  switch (op) {
    case lanes::CompareOp::kEqual:
      return a == b;
    case lanes::CompareOp::kNotEqual:
      return a != b;
    case lanes::CompareOp::kLess:
      return a < b;
    case lanes::CompareOp::kLessEqual:
      return a <= b;
    case lanes::CompareOp::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

// Both sides of a comparison, a constant last.
struct Sides {
  const Value* a;
  const Value* b;
  lanes::CompareOp op;
};

Sides ordered_sides(const Frame& frame, int32_t index) {
  const Value& a = frame.argument(index, 0);
  const Value& b = frame.argument(index, 1);
  const lanes::CompareOp op = compare_op(frame.step(index).expression->op);
  if (a.constant && !b.constant) return {&b, &a, turned(op)};
  return {&a, &b, op};
}

int32_t scale_of(const Expression& expression) {
  return expression.type.id == TypeId::kDecimal128 ? expression.type.scale : 0;
}

// Numbers of different scales, where no type holds both: the side of the smaller scale is multiplied. A
// product beyond 128 bits is further from 0 than any value of the other side.
void compare_scaled(const Frame& frame, int32_t index, uint8_t* to) {
  const Expression& expression = *frame.step(index).expression;
  const int32_t shift = scale_of(*expression.arguments[1]) - scale_of(*expression.arguments[0]);
  Value& a = frame.argument(index, shift > 0 ? 0 : 1);
  const Value& b = frame.argument(index, shift > 0 ? 1 : 0);
  const lanes::CompareOp written = compare_op(expression.op);
  const lanes::CompareOp op = shift > 0 ? written : turned(written);
  const Int128 power = power_of_ten(std::abs(shift));
  const int32_t count = frame.count;
  const bool narrow = a.high == nullptr && b.high == nullptr && power <= INT64_MAX &&
                      known_bits(a, count) + std::bit_width(static_cast<uint64_t>(power)) <= 63;
  if (narrow) {
    uint64_t scaled[kBlockRows];
    lanes::combine_words(
        lanes::WordOp::kMultiply, {a.low, nullptr, static_cast<uint64_t>(power)}, count, scaled);
    const lanes::WordPair pair{scaled, b.constant ? nullptr : b.low, b.low[0]};
    return lanes::compare_words(op, pair, count, to);
  }
  for (int32_t i = 0; i < count; ++i) {
    const Int128 value = integer_at(a, i);
    Int128 scaled = 0;
    const bool beyond = __builtin_mul_overflow(value, power, &scaled);
    to[i] = beyond ? holds(op, value < 0 ? -1 : 1, 0) : holds(op, scaled, integer_at(b, i));
  }
}

// Copies the values of the rows that are taken.
void take_rows(
    const Value& from, const uint8_t* taken, int32_t count, ValueDomain domain, const Slot& to) {
  switch (domain) {
    case ValueDomain::kBool:
      for (int32_t i = 0; i < count; ++i) to.bytes()[i] = taken[i] ? from.bytes[i] : to.bytes()[i];
      return;
    case ValueDomain::kReal:
      for (int32_t i = 0; i < count; ++i) to.real()[i] = taken[i] ? from.real[i] : to.real()[i];
      return;
    default:
      for (int32_t i = 0; i < count; ++i) to.low[i] = taken[i] ? from.low[i] : to.low[i];
  }
}

// Builds the result of a choice row by row: the last taker of a row wins.
class Chooser {
 public:
  Chooser(const Frame& frame, int32_t index)
      : frame_(frame),
        index_(index),
        slot_(frame.slot(index)),
        out_(frame.values[index]),
        domain_(frame.step(index).expression->domain()) {
    out_ = {};
    out_.bits = 0;
    any_null_ = any_poison_ = any_wide_ = false;
    for (const int32_t argument : frame.step(index).arguments) {
      const Value& value = frame.values[argument];
      any_null_ |= value.valid != nullptr;
      any_poison_ |= value.poison != nullptr;
      any_wide_ |= value.high != nullptr;
    }
  }

  // Of the argument at `position`.
  void take(int32_t position, const uint8_t* taken) {
    const int32_t count = frame_.count;
    Value& from = frame_.argument(index_, position);
    if (domain_ == ValueDomain::kText) {
      take_strings(position, taken);
    } else {
      take_rows(from, taken, count, domain_, slot_);
    }
    if (domain_ == ValueDomain::kInteger) {
      out_.bits = std::max(out_.bits, known_bits(from, count));
      for (int32_t i = 0; any_wide_ && i < count; ++i) {
        if (taken[i] != 0) slot_.high[i] = static_cast<uint64_t>(integer_at(from, i) >> 64);
      }
    }
    for (int32_t i = 0; any_null_ && i < count; ++i) {
      if (taken[i] != 0) slot_.valid[i] = from.valid == nullptr ? 1 : from.valid[i];
    }
    for (int32_t i = 0; any_poison_ && i < count; ++i) {
      if (taken[i] != 0) slot_.poison[i] = from.poison == nullptr ? 0 : from.poison[i];
    }
  }

  // Rows whose condition could not be computed cannot be chosen for.
  void spoil(const Value& condition) {
    if (condition.poison == nullptr) return;
    for (int32_t i = 0; i < frame_.count; ++i) {
      if (condition.poison[i] == 0) continue;
      slot_.poison[i] = condition.poison[i];
      if (any_null_) slot_.valid[i] = 1;
    }
  }

  void finish() {
    if (domain_ == ValueDomain::kBool) out_.bytes = slot_.bytes();
    if (domain_ == ValueDomain::kReal) out_.real = slot_.real();
    if (domain_ == ValueDomain::kText) out_.strings = slot_.strings();
    if (domain_ == ValueDomain::kInteger) {
      out_.low = slot_.low;
      out_.high = any_wide_ ? slot_.high : nullptr;
    }
    out_.valid = any_null_ ? slot_.valid : nullptr;
    out_.poison = any_poison_ ? slot_.poison : nullptr;
  }

 private:
  void take_strings(int32_t position, const uint8_t* taken) {
    const std::string_view* from =
        known_strings(frame_, frame_.step(index_).arguments[static_cast<size_t>(position)]);
    std::string_view* to = slot_.strings();
    for (int32_t i = 0; i < frame_.count; ++i) to[i] = taken[i] != 0 ? from[i] : to[i];
  }

  const Frame& frame_;
  int32_t index_;
  Slot slot_;
  Value& out_;
  ValueDomain domain_;
  bool any_null_;
  bool any_poison_;
  bool any_wide_;
};

// 1 where the second of two arguments is the more extreme one.
void mark_better(const Frame& frame, int32_t index, uint8_t* to) {
  const ProgramStep& step = frame.step(index);
  const bool greatest = step.expression->op == ExpressionOp::kGreatest;
  const Value& a = frame.argument(index, 0);
  const Value& b = frame.argument(index, 1);
  const int32_t count = frame.count;
  switch (step.expression->domain()) {
    case ValueDomain::kText: {
      const std::string_view* x = known_strings(frame, step.arguments[0]);
      const std::string_view* y = known_strings(frame, step.arguments[1]);
      for (int32_t i = 0; i < count; ++i) to[i] = greatest ? y[i] > x[i] : y[i] < x[i];
      return;
    }
    case ValueDomain::kReal:  // NaN is above all
      for (int32_t i = 0; i < count; ++i) {
        const double x = a.real[i];
        const double y = b.real[i];
        to[i] = greatest ? y > x || y != y : y < x || x != x;
      }
      return;
    default:
      for (int32_t i = 0; i < count; ++i) {
        const Int128 x = integer_at(a, i);
        const Int128 y = integer_at(b, i);
        to[i] = greatest ? y > x : y < x;
      }
  }
}

}  // namespace

void run_comparison(const Frame& frame, int32_t index) {
  const Sides sides = ordered_sides(frame, index);
  const Value& a = *sides.a;
  const Value& b = *sides.b;
  Value& out = frame.open_value(index);
  uint8_t* to = frame.slot(index).bytes();
  const int32_t count = frame.count;
  out.bytes = to;
  const Expression& expression = *frame.step(index).expression;
  if (scale_of(*expression.arguments[0]) != scale_of(*expression.arguments[1])) {
    return compare_scaled(frame, index, to);
  }
  if (a.real != nullptr) {
    const lanes::RealPair pair{a.real, b.constant ? nullptr : b.real, b.real[0]};
    return lanes::compare_reals(sides.op, pair, count, to);
  }
  if (a.bytes != nullptr) {
    for (int32_t i = 0; i < count; ++i) to[i] = holds<int>(sides.op, a.bytes[i], b.bytes[i]);
    return;
  }
  if (a.int32s != nullptr) {
    const int32_t constant = b.constant ? static_cast<int32_t>(b.low[0]) : 0;
    return lanes::compare_int32s(sides.op, {a.int32s, b.int32s, constant}, count, to);
  }
  if (a.high == nullptr && b.high == nullptr) {
    const lanes::WordPair pair{a.low, b.constant ? nullptr : b.low, b.low[0]};
    return lanes::compare_words(sides.op, pair, count, to);
  }
  for (int32_t i = 0; i < count; ++i) to[i] = holds(sides.op, integer_at(a, i), integer_at(b, i));
}

void run_membership(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const Value& a = frame.argument(index, 0);
  Value& out = frame.open_value(index);
  uint8_t* to = frame.slot(index).bytes();
  out.bytes = to;
  std::fill_n(to, frame.count, uint8_t{0});
  uint8_t same[kBlockRows];
  for (const LiteralValue& value : expression.values) {
    if (a.high != nullptr) {
      for (int32_t i = 0; i < frame.count; ++i) to[i] |= integer_at(a, i) == value.integer;
      continue;
    }
    const auto word = static_cast<int64_t>(value.integer);
    if (word != value.integer) continue;  // no word equals it
    lanes::compare_words(
        lanes::CompareOp::kEqual, {a.low, nullptr, static_cast<uint64_t>(word)}, frame.count, same);
    for (int32_t i = 0; i < frame.count; ++i) to[i] |= same[i];
  }
}

void run_logic(const Frame& frame, int32_t index) {
  const ExpressionOp op = frame.step(index).expression->op;
  const Value& a = frame.argument(index, 0);
  Value& out = frame.open_value(index);
  const Slot slot = frame.slot(index);
  uint8_t* to = slot.bytes();
  const int32_t count = frame.count;
  out.bytes = to;
  if (op == ExpressionOp::kIsNull || op == ExpressionOp::kIsValid) {
    const uint8_t passing = op == ExpressionOp::kIsValid ? 1 : 0;
    for (int32_t i = 0; i < count; ++i) to[i] = (a.valid == nullptr || a.valid[i] != 0) == passing;
    out.valid = nullptr;
    return;
  }
  if (op == ExpressionOp::kNot) {
    for (int32_t i = 0; i < count; ++i) to[i] = a.bytes[i] ^ 1;
    return;
  }
  const Value& b = frame.argument(index, 1);
  // What decides alone, whatever the other side is: false for and, true for or.
  const uint8_t decides = op == ExpressionOp::kAnd ? 0 : 1;
  if (op == ExpressionOp::kAnd) {
    for (int32_t i = 0; i < count; ++i) to[i] = a.bytes[i] & b.bytes[i];
  } else {
    for (int32_t i = 0; i < count; ++i) to[i] = a.bytes[i] | b.bytes[i];
  }
  if (out.valid == nullptr) return;
  for (int32_t i = 0; i < count; ++i) {
    const uint8_t a_valid = a.valid == nullptr ? 1 : a.valid[i];
    const uint8_t b_valid = b.valid == nullptr ? 1 : b.valid[i];
    const bool by_a = a_valid != 0 && a.bytes[i] == decides;
    const bool by_b = b_valid != 0 && b.bytes[i] == decides;
    slot.valid[i] = (a_valid & b_valid) | by_a | by_b;
    if (by_a || by_b) to[i] = decides;
  }
}

void run_choice(const Frame& frame, int32_t index) {
  uint8_t taken[kBlockRows];
  const auto count = static_cast<int32_t>(frame.step(index).arguments.size());
  Chooser chooser(frame, index);
  std::fill_n(taken, frame.count, uint8_t{1});
  chooser.take(count - 1, taken);
  if (frame.step(index).expression->op == ExpressionOp::kCoalesce) {
    const Value& first = frame.argument(index, 0);
    if (first.valid != nullptr) std::copy_n(first.valid, frame.count, taken);
    chooser.take(0, taken);
    return chooser.finish();
  }
  // Backwards, so that the first condition that is true has the last word.
  for (int32_t i = count - 3; i >= 0; i -= 2) {
    const Value& condition = frame.argument(index, i);
    std::copy_n(condition.bytes, frame.count, taken);
    if (condition.valid != nullptr) {
      for (int32_t row = 0; row < frame.count; ++row) taken[row] &= condition.valid[row];
    }
    chooser.take(i + 1, taken);
    chooser.spoil(condition);
  }
  chooser.finish();
}

void run_extreme(const Frame& frame, int32_t index) {
  uint8_t taken[kBlockRows];
  Chooser chooser(frame, index);
  std::fill_n(taken, frame.count, uint8_t{1});
  chooser.take(0, taken);
  mark_better(frame, index, taken);
  const Value& a = frame.argument(index, 0);
  const Value& b = frame.argument(index, 1);
  for (int32_t i = 0; i < frame.count; ++i) {
    const bool a_valid = a.valid == nullptr || a.valid[i] != 0;
    const bool b_valid = b.valid == nullptr || b.valid[i] != 0;
    taken[i] = b_valid && (!a_valid || taken[i] != 0) ? 1 : 0;
  }
  chooser.take(1, taken);
  chooser.spoil(a);
  chooser.spoil(b);
  chooser.finish();
}

}  // namespace crossdock::expressions::steps
