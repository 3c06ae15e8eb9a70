// Conditions on strings: comparisons, in-lists and patterns. Strings are read where they lie.
#include <algorithm>
#include <string_view>

#include "base/check.hpp"
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
      return test_rows(frame, index, [&](std::string_view s) { return matcher.matches(s); });
    }
    default:
      return compare_strings(frame, index);
  }
}

}  // namespace crossdock::expressions::steps
