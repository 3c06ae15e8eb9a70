// Values as strings, and values of strings.
#include <algorithm>
#include <optional>

#include "expressions/checked_writer.hpp"
#include "expressions/number_text.hpp"
#include "expressions/string_arena.hpp"
#include "expressions/string_rows.hpp"
#include "expressions/time_text.hpp"

namespace crossdock::expressions::steps {
namespace {

// Strings that `write` puts at an address for each row, of at most `most` bytes.
template <class Write>
void write_rows(const Frame& frame, int32_t index, size_t most, const Write& write) {
  make_rows(frame, index, [&](int32_t i) {
    return frame.strings->put(most, [&](char* to) { return write(i, to); });
  });
}

void write_reals(const Frame& frame, int32_t index, bool is_single) {
  const double* reals = frame.argument(index, 0).real;
  if (is_single) {
    return write_rows(frame, index, kMostNumberBytes, [=](int32_t i, char* to) {
      return write_real(static_cast<float>(reals[i]), to);
    });
  }
  write_rows(frame, index, kMostNumberBytes, [=](int32_t i, char* to) {
    return write_real(reals[i], to);
  });
}

void write_values(const Frame& frame, int32_t index) {
  const Expression& from = *frame.step(index).expression->arguments[0];
  const Value& a = frame.argument(index, 0);
  switch (from.domain()) {
    case ValueDomain::kText: {
      const std::string_view* strings = known_strings(frame, frame.step(index).arguments[0]);
      return make_rows(frame, index, [=](int32_t i) { return strings[i]; });
    }
    case ValueDomain::kBool:
      return make_rows(frame, index, [&](int32_t i) {
        return std::string_view(a.bytes[i] != 0 ? "true" : "false");
      });
    case ValueDomain::kReal:
      return write_reals(frame, index, from.type.id == TypeId::kFloat32);
    default:
      break;
  }
  if (from.type.id == TypeId::kDate32) {
    return write_rows(frame, index, kMostTimeBytes, [&](int32_t i, char* to) {
      return write_date(static_cast<int64_t>(a.low[i]), to);
    });
  }
  if (from.type.id == TypeId::kTimestamp) {
    const int64_t per_second = from.type.units_per_second;
    return write_rows(frame, index, kMostTimeBytes, [&](int32_t i, char* to) {
      return write_instant(static_cast<int64_t>(a.low[i]), per_second, to);
    });
  }
  const int32_t scale = from.type.id == TypeId::kDecimal128 ? from.type.scale : 0;
  write_rows(frame, index, kMostNumberBytes, [&](int32_t i, char* to) {
    return write_decimal(integer_at(a, i), scale, to);
  });
}

// Reads the string of each row that has one, and stores what it is. One that is no value is an error of its row, or
// NULL where that is wanted.
template <class Read, class Store>
void read_rows(const Frame& frame, int32_t index, const Read& read, const Store& store) {
  const bool is_null_otherwise = frame.step(index).expression->op == ExpressionOp::kTryParse;
  const std::string_view* strings = known_strings(frame, frame.step(index).arguments[0]);
  const Slot slot = frame.slot(index);
  Value& out = frame.values[index];
  if (is_null_otherwise && out.valid == nullptr) {
    std::fill_n(slot.valid, frame.count, uint8_t{1});
    out.valid = slot.valid;
  }
  for (int32_t i = 0; i < frame.count; ++i) {
    auto value = decltype(read(strings[i])){0};
    if (out.valid == nullptr || out.valid[i] != 0) value = read(strings[i]);
    store(i, value.value_or(0));
    if (value) continue;
    if (is_null_otherwise) {
      slot.valid[i] = 0;
    } else {
      frame.poison(index, out, i);
    }
  }
}

// `read` gives Int128s, or what is one.
template <class Read>
void read_exact(const Frame& frame, int32_t index, const Read& read) {
  const IntegerRange range = integer_range(frame.step(index).expression->type);
  CheckedWriter writer(frame, index, frame.values[index], range);
  read_rows(
      frame,
      index,
      [&](std::string_view string) -> std::optional<Int128> {
        const auto value = read(string);
        if (!value || *value < range.min || *value > range.max) return std::nullopt;
        return *value;
      },
      [&](int32_t i, Int128 value) { writer.put(i, value, false); });
  writer.finish();
}

std::optional<uint8_t> read_bool(std::string_view string) {
  constexpr std::string_view kTrueWords[] = {"true", "t", "yes", "y", "1"};
  constexpr std::string_view kFalseWords[] = {"false", "f", "no", "n", "0"};
  constexpr size_t kLongest = 5;
  if (string.size() > kLongest) return std::nullopt;
  char lower[kLongest];
  std::transform(string.begin(), string.end(), lower, [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
  });
  const std::string_view word(lower, string.size());
  if (std::find(std::begin(kTrueWords), std::end(kTrueWords), word) != std::end(kTrueWords))
    return uint8_t{1};
  if (std::find(std::begin(kFalseWords), std::end(kFalseWords), word) != std::end(kFalseWords))
    return uint8_t{0};
  return std::nullopt;
}

}  // namespace

void run_to_text(const Frame& frame, int32_t index) {
  Value& out = frame.open_value(index);
  write_values(frame, index);
  out.strings = frame.slot(index).strings();
}

void run_parse(const Frame& frame, int32_t index) {
  const DataType& type = frame.step(index).expression->type;
  const Slot slot = frame.slot(index);
  Value& out = frame.open_value(index);
  switch (type.id) {
    case TypeId::kBool:
      out.bytes = slot.bytes();
      return read_rows(
          frame, index, read_bool, [=](int32_t i, uint8_t value) { slot.bytes()[i] = value; });
    case TypeId::kFloat32:
    case TypeId::kFloat64:
      out.real = slot.real();
      return read_rows(frame,
                       index,
                       type.id == TypeId::kFloat32 ? read_float : read_double,
                       [=](int32_t i, double value) { slot.real()[i] = value; });
    case TypeId::kDate32:
      return read_exact(frame, index, read_date);
    case TypeId::kTimestamp:
      return read_exact(frame, index, [&](std::string_view string) {
        return read_instant(string, type.units_per_second);
      });
    case TypeId::kDecimal128:
      return read_exact(
          frame, index, [&](std::string_view string) { return read_decimal(string, type.scale); });
    default:
      return read_exact(frame, index, read_integer);
  }
}

}  // namespace crossdock::expressions::steps
