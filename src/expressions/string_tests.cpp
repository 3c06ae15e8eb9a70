// Conditions on strings: comparisons, in-lists and patterns. Strings are read where they lie.
#include <algorithm>
#include <string_view>

#include "base/check.hpp"
#include "expressions/string_lanes.hpp"
#include "expressions/string_matcher.hpp"

namespace crossdock::expressions::steps {
namespace {

// Dictionaries of at most so many values are tested value by value, where blocks have more rows.
constexpr int64_t kTestedEntries = 256;

// Tests the values of a dictionary, and copies the answers to the rows that name them.
template <class Test>
void test_entries(const Frame& frame, int32_t index, const Test& test, uint8_t* to) {
  const Expression& subject = *frame.step(index).expression->arguments[0];
  const ColumnView& column = frame.batch->columns[subject.column];
  const auto entries = static_cast<int32_t>(column.dictionary->length);
  std::string_view slices[kTestedEntries];
  uint8_t answers[kTestedEntries];
  for (int32_t i = 0; i < entries; ++i) {
    if (!column.dictionary->is_valid(i)) continue;
    load_slices({*column.dictionary, *subject.type.dictionary, i, 1, nullptr}, slices + i);
  }
  for (int32_t i = 0; i < entries; ++i) answers[i] = test(slices[i]) ? 1 : 0;
  const TypeId index_type = dictionary_index(subject.type);
  const uint8_t* valid = frame.values[index].valid;
  for (int32_t i = 0; i < frame.count; ++i) {
    const bool has_value = valid == nullptr || valid[i] != 0;
    to[i] = has_value ? answers[dictionary_index_at(column, index_type, frame.begin + i)] : 0;
  }
}

bool has_few_entries(const Frame& frame, const Expression& subject) {
  if (subject.op != ExpressionOp::kColumn || subject.type.id != TypeId::kDictionary) return false;
  const int64_t entries = frame.batch->columns[subject.column].dictionary->length;
  return entries <= kTestedEntries && entries <= frame.count / 2;
}

// Calls `test` for each row that is valid; the others become 0.
template <class Test>
void test_rows(const Frame& frame, int32_t index, const Test& test) {
  uint8_t* to = frame.slot(index).bytes();
  if (has_few_entries(frame, *frame.step(index).expression->arguments[0])) {
    return test_entries(frame, index, test, to);
  }
  const std::string_view* strings = known_strings(frame, frame.step(index).arguments[0]);
  const uint8_t* valid = frame.values[index].valid;
  for (int32_t i = 0; i < frame.count; ++i) {
    to[i] = (valid == nullptr || valid[i] != 0) && test(strings[i]) ? 1 : 0;
  }
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
  Value& out = frame.values[index];
  out = {};
  frame.merge_marks(index, out);
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
    case ExpressionOp::kLike:
    case ExpressionOp::kLikeAnyCase:
    case ExpressionOp::kIsIn: {
      const StringMatcher& matcher = *step.matcher;
      return test_rows(frame, index, [&](std::string_view s) { return matcher.matches(s); });
    }
    default:
      return compare_strings(frame, index);
  }
}

}  // namespace crossdock::expressions::steps
