// Conditions on strings: comparisons, in-lists and patterns. Strings are read where they lie.
#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "expressions/string_heads.hpp"
#include "expressions/string_matcher.hpp"
#include "expressions/string_rows.hpp"
#include "expressions/string_search.hpp"

namespace crossdock::expressions::steps {
namespace {

template <class Test>
void test_rows(const Frame& frame, int32_t index, const Test& test) {
  map_rows<uint8_t>(
      frame,
      index,
      [&](std::string_view string) -> uint8_t { return test(string) ? 1 : 0; },
      frame.slot(index).bytes());
}

// The same of a test that costs more than to look its result up.
template <class Test>
void test_costly_rows(const Frame& frame, int32_t index, const Test& test) {
  StringMemo& memo = *frame.memos[index];
  memo.begin_block();
  if (!memo.is_worth_it()) return test_rows(frame, index, test);
  const auto answer = [&](std::string_view string) -> std::string_view {
    return test(string) ? "true" : "";
  };
  test_rows(
      frame, index, [&](std::string_view string) { return !memo.of(string, answer).empty(); });
}

// Of rows that have the head of a constant, whether they are all of it.
void keep_equal(const Frame& frame, int32_t argument, std::string_view constant, uint8_t* same) {
  uint16_t rows[kBlockRows];
  const int32_t count = lanes::positions_of(same, frame.count, rows);
  if (count == 0) return;
  const std::string_view* strings = known_strings(frame, argument);
  for (int32_t i = 0; i < count; ++i) same[rows[i]] = strings[rows[i]] == constant ? 1 : 0;
}

// Whether each string is one of a few, or none of them.
void find_equal(const Frame& frame,
                int32_t index,
                std::span<const LiteralValue> constants,
                bool is_negated = false) {
  const int32_t argument = frame.step(index).arguments[0];
  const int32_t count = frame.count;
  size_t longest = 0;
  for (const LiteralValue& value : constants) longest = std::max(longest, value.text.size());
  uint64_t heads[kBlockRows];
  load_heads(frame, argument, longest, heads);
  uint8_t* to = frame.slot(index).bytes();
  std::fill_n(to, count, uint8_t{0});
  uint8_t same[kBlockRows];
  for (const LiteralValue& value : constants) {
    const std::string_view constant = value.text;
    lanes::compare_words(
        lanes::CompareOp::kEqual, {heads, nullptr, head_of(constant)}, count, same);
    if (constant.size() > kHeadBytes) keep_equal(frame, argument, constant, same);
    for (int32_t i = 0; i < count; ++i) to[i] |= same[i];
  }
  for (int32_t i = 0; is_negated && i < count; ++i) to[i] ^= 1;
  const uint8_t* valid = frame.values[index].valid;
  for (int32_t i = 0; valid != nullptr && i < count; ++i) to[i] &= valid[i];
}

// Whether a condition is that a string is one of a few constants, or none of them, and no mapping of a dictionary.
bool compares_heads(const Frame& frame, const Expression& condition) {
  constexpr size_t kFew = 8;  // of more a hash table is asked
  if (has_few_entries(frame, *condition.arguments[0])) return false;
  if (condition.op == ExpressionOp::kIsIn) return condition.values.size() <= kFew;
  const bool is_equality =
      condition.op == ExpressionOp::kEqual || condition.op == ExpressionOp::kNotEqual;
  return is_equality && condition.arguments[1]->op == ExpressionOp::kLiteral;
}

template <class Compare>
void compare_rows(const Frame& frame, int32_t index, const Compare& compare) {
  const ProgramStep& step = frame.step(index);
  if (step.expression->arguments[1]->op == ExpressionOp::kLiteral) {
    const std::string_view with = step.expression->arguments[1]->values[0].text;
    return test_rows(frame, index, [&](std::string_view string) { return compare(string, with); });
  }
  const std::string_view* a = known_strings(frame, step.arguments[0]);
  const std::string_view* b = known_strings(frame, step.arguments[1]);
  uint8_t* to = frame.slot(index).bytes();
  for (int32_t i = 0; i < frame.count; ++i) to[i] = compare(a[i], b[i]) ? 1 : 0;
}

void compare_strings(const Frame& frame, int32_t index) {
  using View = std::string_view;
  switch (frame.step(index).expression->op) {
    case ExpressionOp::kEqual:
      return compare_rows(frame, index, [](View a, View b) { return a == b; });
    case ExpressionOp::kNotEqual:
      return compare_rows(frame, index, [](View a, View b) { return a != b; });
    case ExpressionOp::kLess:
      return compare_rows(frame, index, [](View a, View b) { return a < b; });
    case ExpressionOp::kLessEqual:
      return compare_rows(frame, index, [](View a, View b) { return a <= b; });
    case ExpressionOp::kGreater:
      return compare_rows(frame, index, [](View a, View b) { return a > b; });
    default:
      return compare_rows(frame, index, [](View a, View b) { return a >= b; });
  }
}

}  // namespace

void run_string_test(const Frame& frame, int32_t index) {
  const ProgramStep& step = frame.step(index);
  Value& out = frame.open_value(index);
  out.bytes = frame.slot(index).bytes();
  const std::string_view first = step.expression->values.empty()
                                   ? std::string_view()
                                   : std::string_view(step.expression->values[0].text);
  const Expression& condition = *step.expression;
  if (compares_heads(frame, condition)) {
    const bool is_list = condition.op == ExpressionOp::kIsIn;
    const std::vector<LiteralValue>& constants =
        is_list ? condition.values : condition.arguments[1]->values;
    return find_equal(frame, index, constants, condition.op == ExpressionOp::kNotEqual);
  }
  switch (step.expression->op) {
    case ExpressionOp::kStartsWith:
      return test_rows(frame, index, [=](std::string_view s) { return s.starts_with(first); });
    case ExpressionOp::kEndsWith:
      return test_rows(frame, index, [=](std::string_view s) { return s.ends_with(first); });
    case ExpressionOp::kContains:
      if (!has_few_entries(frame, *step.expression->arguments[0])) {
        const std::string_view* strings = known_strings(frame, step.arguments[0]);
        return have_part(strings, out.valid, frame.count, first, frame.slot(index).bytes());
      }
      [[fallthrough]];
    case ExpressionOp::kLike:
    case ExpressionOp::kLikeAnyCase:
    case ExpressionOp::kMatches:
    case ExpressionOp::kIsIn: {
      const StringMatcher& matcher = *step.matcher;
      if (is_costly(condition.op)) {
        return test_costly_rows(
            frame, index, [&](std::string_view s) { return matcher.matches(s); });
      }
      return test_rows(frame, index, [&](std::string_view s) { return matcher.matches(s); });
    }
    default:
      return compare_strings(frame, index);
  }
}

}  // namespace crossdock::expressions::steps
