// Tests of texts against literals. Texts are read where they lie.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "expressions/step_frame.hpp"

namespace crossdock::expressions::steps {
namespace {

constexpr uint32_t kInlineBytes = 12;  // what a string view holds itself

template <class T>
T load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

std::string_view text_at(const ColumnView& column, Layout layout, int64_t row) {
  const int64_t at = column.offset + row;
  const uint8_t* from = column.values;
  uint64_t bytes = 0;
  if (layout == Layout::kOffsets32) {
    const auto* offsets = static_cast<const int32_t*>(column.offsets) + at;
    from += offsets[0];
    bytes = static_cast<uint64_t>(offsets[1] - offsets[0]);
  } else if (layout == Layout::kOffsets64) {
    const auto* offsets = static_cast<const int64_t*>(column.offsets) + at;
    from += offsets[0];
    bytes = static_cast<uint64_t>(offsets[1] - offsets[0]);
  } else {
    const uint8_t* view = column.values + at * 16;
    bytes = load<uint32_t>(view);
    from = bytes <= kInlineBytes
             ? view + 4
             : column.heaps[load<uint32_t>(view + 8)] + load<uint32_t>(view + 12);
  }
  return {reinterpret_cast<const char*>(from), bytes};
}

struct TestedColumn {
  const ColumnView* column;
  Layout layout;
  int64_t begin;
  int32_t count;
  const uint8_t* valid;
};

// Calls `test` for each row that is valid; the others become 0.
template <class Test>
void test_column(const TestedColumn& of, uint8_t* out, const Test& test) {
  for (int32_t i = 0; i < of.count; ++i) {
    const bool has_value = of.valid == nullptr || of.valid[i] != 0;
    out[i] = has_value && test(text_at(*of.column, of.layout, of.begin + i));
  }
}

bool compare_texts(ExpressionOp op, std::string_view text, std::string_view with) {
  switch (op) {
    case ExpressionOp::kLess:
      return text < with;
    case ExpressionOp::kLessEqual:
      return text <= with;
    case ExpressionOp::kGreater:
      return text > with;
    default:
      return text >= with;
  }
}

void test_literal(const Expression& expression, const TestedColumn& of, uint8_t* out) {
  const bool in_list = expression.op == ExpressionOp::kIsIn;
  const Expression* against =
      expression.arguments.size() == 2 ? expression.arguments[1].get() : nullptr;
  const std::vector<LiteralValue>& values =
      against != nullptr ? against->values : expression.values;
  const std::string_view first = values.empty() ? std::string_view() : values[0].text;
  switch (expression.op) {
    case ExpressionOp::kEqual:
      return test_column(of, out, [first](std::string_view text) { return text == first; });
    case ExpressionOp::kNotEqual:
      return test_column(of, out, [first](std::string_view text) { return text != first; });
    case ExpressionOp::kStartsWith:
      return test_column(of, out, [first](std::string_view t) { return t.starts_with(first); });
    case ExpressionOp::kEndsWith:
      return test_column(of, out, [first](std::string_view t) { return t.ends_with(first); });
    case ExpressionOp::kContains:
      return test_column(of, out, [first](std::string_view t) { return t.find(first) != t.npos; });
    default:
      break;
  }
  if (in_list) {
    return test_column(of, out, [&values](std::string_view text) {
      return std::any_of(values.begin(), values.end(), [text](const LiteralValue& value) {
        return text == value.text;
      });
    });
  }
  const ExpressionOp op = expression.op;
  test_column(
      of, out, [op, first](std::string_view text) { return compare_texts(op, text, first); });
}

int64_t index_at(const ColumnView& column, TypeId type, int64_t row) {
  const int64_t at = column.offset + row;
  switch (type) {
    case TypeId::kInt8:
      return load<int8_t>(column.values + at);
    case TypeId::kUInt8:
      return load<uint8_t>(column.values + at);
    case TypeId::kInt16:
      return load<int16_t>(column.values + at * 2);
    case TypeId::kUInt16:
      return load<uint16_t>(column.values + at * 2);
    case TypeId::kInt32:
      return load<int32_t>(column.values + at * 4);
    case TypeId::kUInt32:
      return load<uint32_t>(column.values + at * 4);
    default:
      return load<int64_t>(column.values + at * 8);
  }
}

// Tests the values that the rows name.
void test_dictionary(const Frame& frame, int32_t index, const ColumnView& column, Value& out) {
  const Expression& expression = *frame.step(index).expression;
  const DataType& type = expression.arguments[0]->type;
  const ColumnView& dictionary = *column.dictionary;
  const Slot slot = frame.slot(index);
  const TypeId index_type = dictionary_index(type);
  const Layout values_layout = layout(*type.dictionary);
  if (out.valid == nullptr && dictionary.validity != nullptr) {
    std::fill_n(slot.valid, frame.count, uint8_t{1});
    out.valid = slot.valid;
  }
  for (int32_t i = 0; i < frame.count; ++i) {
    slot.bytes()[i] = 0;
    if (out.valid != nullptr && slot.valid[i] == 0) continue;
    const int64_t at = index_at(column, index_type, frame.begin + i);
    if (!dictionary.is_valid(at)) {
      slot.valid[i] = 0;
      continue;
    }
    // Neighbours are often equal; the answer is then the same.
    if (i > 0 && at == index_at(column, index_type, frame.begin + i - 1) &&
        (out.valid == nullptr || slot.valid[i - 1] != 0)) {
      slot.bytes()[i] = slot.bytes()[i - 1];
      continue;
    }
    test_literal(expression, {&dictionary, values_layout, at, 1, nullptr}, slot.bytes() + i);
  }
}

}  // namespace

void run_text_test(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const Expression& subject = *expression.arguments[0];
  const ColumnView& column = frame.batch->columns[subject.column];
  Value& out = frame.values[index];
  out = {};
  frame.merge_marks(index, out);
  out.bytes = frame.slot(index).bytes();
  if (subject.type.id == TypeId::kDictionary) return test_dictionary(frame, index, column, out);
  test_literal(expression,
               {&column, layout(subject.type), frame.begin, frame.count, out.valid},
               frame.slot(index).bytes());
}

}  // namespace crossdock::expressions::steps
