#include "execution/row_group_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "execution/known_values.hpp"

namespace crossdock::execution {
namespace {

using expressions::Expression;
using expressions::ExpressionOp;
using expressions::ExpressionPtr;
using expressions::LiteralValue;
using scan::ColumnChunk;
using scan::ColumnForm;
using scan::PhysicalType;

template <class T, class Result>
std::optional<Result> stored_as(const std::optional<std::string>& bytes) {
  if (!bytes.has_value() || bytes->size() != sizeof(T)) return std::nullopt;
  T value = 0;
  std::memcpy(&value, bytes->data(), sizeof(T));
  return static_cast<Result>(value);
}

std::optional<Int128> big_endian(const std::optional<std::string>& bytes) {
  if (!bytes.has_value() || bytes->empty() || bytes->size() > sizeof(Int128)) return std::nullopt;
  UInt128 value = (static_cast<uint8_t>((*bytes)[0]) & 0x80) != 0 ? ~UInt128{0} : UInt128{0};
  for (const char part : *bytes) value = (value << 8) | static_cast<uint8_t>(part);
  return static_cast<Int128>(value);
}

std::optional<Int128> stored_number(const ColumnForm& form, const ColumnChunk& chunk, bool is_max) {
  const auto& bytes = is_max ? chunk.statistics.max : chunk.statistics.min;
  const bool is_unsigned = form.is_unsigned;
  if (is_unsigned && chunk.statistics.is_deprecated) return std::nullopt;
  switch (form.physical) {
    case PhysicalType::kInt32:
      return is_unsigned ? stored_as<uint32_t, Int128>(bytes) : stored_as<int32_t, Int128>(bytes);
    case PhysicalType::kInt64:
      return is_unsigned ? stored_as<uint64_t, Int128>(bytes) : stored_as<int64_t, Int128>(bytes);
    case PhysicalType::kFixedBytes:
      if (chunk.statistics.is_deprecated) return std::nullopt;
      return form.conversion == scan::Conversion::kDecimalBytes ? big_endian(bytes) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// In the type of the column.
std::optional<Int128> whole_number(const ColumnForm& form, const ColumnChunk& chunk, bool is_max) {
  const auto stored = stored_number(form, chunk, is_max);
  Int128 number = 0;
  if (!stored.has_value() || __builtin_mul_overflow(*stored, form.factor, &number)) {
    return std::nullopt;
  }
  return number;
}

// Whether the bytes of the type can hold the number.
bool fits(const DataType& type, Int128 number) {
  const int32_t bits = 8 * fixed_bytes(type) - (is_unsigned_integer(type.id) ? 0 : 1);
  if (is_unsigned_integer(type.id) && number < 0) return false;
  return bits >= 127 || (number >= -(Int128{1} << bits) && number < (Int128{1} << bits));
}

// Statistics leave NaN out, which no comparison but != is true for.
std::optional<double> real_number(const ColumnForm& form, const ColumnChunk& chunk, bool is_max) {
  if (form.physical != PhysicalType::kDouble) return std::nullopt;
  const auto value =
      stored_as<double, double>(is_max ? chunk.statistics.max : chunk.statistics.min);
  return value.has_value() && !std::isnan(*value) ? value : std::nullopt;
}

std::optional<double> number(const ColumnForm& form, const ColumnChunk& chunk, bool is_max) {
  const auto whole = whole_number(form, chunk, is_max);
  return whole.has_value() ? static_cast<double>(*whole) : real_number(form, chunk, is_max);
}

// A bound that was cut is one all the same.
std::optional<std::string_view> text(const ColumnForm& form,
                                     const ColumnChunk& chunk,
                                     bool is_max) {
  if (form.physical != PhysicalType::kByteArray || chunk.statistics.is_deprecated) {
    return std::nullopt;
  }
  const auto& bytes = is_max ? chunk.statistics.max : chunk.statistics.min;
  if (!bytes.has_value()) return std::nullopt;
  return std::string_view(*bytes);
}

template <class T>
bool holds_integer(const scan::BloomFilter& filter, Int128 stored) {
  const auto value = static_cast<T>(stored);
  if (static_cast<Int128>(value) != stored) return false;  // no value of the column
  uint8_t bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  return filter.may_hold(bytes);
}

// `value` as the file would store it.
bool may_hold(const Expression& column,
              const LiteralValue& value,
              const ColumnForm& form,
              const scan::BloomFilter& filter) {
  const auto scale = column_factor(column);
  if (value.null || !scale.has_value()) return !value.null;
  switch (column.domain()) {
    case expressions::ValueDomain::kInteger: {
      Int128 factor = 0;
      if (form.is_unsigned || __builtin_mul_overflow(form.factor, *scale, &factor)) {
        return true;
      }
      const bool is_32 = form.physical == PhysicalType::kInt32;
      if (factor <= 0 || (!is_32 && form.physical != PhysicalType::kInt64)) return true;
      if (value.integer % factor != 0) return false;
      const Int128 stored = value.integer / factor;
      return is_32 ? holds_integer<int32_t>(filter, stored)
                   : holds_integer<int64_t>(filter, stored);
    }
    case expressions::ValueDomain::kText:
      if (form.physical != PhysicalType::kByteArray) return true;
      return filter.may_hold(
          {reinterpret_cast<const uint8_t*>(value.text.data()), value.text.size()});
    default:
      return true;
  }
}

bool may_hold_any(const Expression& column,
                  const std::vector<LiteralValue>& values,
                  const ColumnForm& form,
                  const scan::BloomFilter& filter) {
  constexpr size_t kValuesMost = 64;  // each is a read
  if (values.size() > kValuesMost) return true;
  return std::any_of(values.begin(), values.end(), [&](const LiteralValue& value) {
    return may_hold(column, value, form, filter);
  });
}

}  // namespace

bool can_be_held(const Expression& condition,
                 const ColumnForm& form,
                 const scan::BloomFilter& filter) {
  const auto can = [&](const ExpressionPtr& part) { return can_be_held(*part, form, filter); };
  const auto& arguments = condition.arguments;
  switch (condition.op) {
    case ExpressionOp::kAnd:
      return std::all_of(arguments.begin(), arguments.end(), can);
    case ExpressionOp::kOr:
      return std::any_of(arguments.begin(), arguments.end(), can);
    case ExpressionOp::kEqual:
      if (arguments[1]->op == ExpressionOp::kLiteral) {
        return may_hold_any(*arguments[0], arguments[1]->values, form, filter);
      }
      if (arguments[0]->op == ExpressionOp::kLiteral) {
        return may_hold_any(*arguments[1], arguments[0]->values, form, filter);
      }
      return true;
    case ExpressionOp::kIsIn:
      return may_hold_any(*arguments[0], condition.values, form, filter);
    default:
      return true;
  }
}

bool can_match(const Expression& condition, const ColumnForm& form, const ColumnChunk& chunk) {
  KnownValues known;
  known.whole = {whole_number(form, chunk, false), whole_number(form, chunk, true)};
  known.real = {real_number(form, chunk, false), real_number(form, chunk, true)};
  known.text = {text(form, chunk, false), text(form, chunk, true)};
  known.may_be_null = chunk.statistics.null_count != 0;
  known.may_have_values = chunk.statistics.null_count != chunk.values;
  return can_match(condition, known);
}

std::optional<operators::KeyRange> value_range(const ColumnForm& form, const ColumnChunk& chunk) {
  const bool is_ranged = is_signed_integer(form.type.id) || form.type.id == TypeId::kDate32;
  if (!is_ranged) return std::nullopt;
  if (chunk.statistics.null_count == chunk.values) return operators::KeyRange();
  const auto min = whole_number(form, chunk, false);
  const auto max = whole_number(form, chunk, true);
  if (!min.has_value() || !max.has_value() || *max < *min) return std::nullopt;
  return operators::KeyRange{static_cast<int64_t>(*min), static_cast<int64_t>(*max)};
}

// Statistics leave NaN out, and strings may be cut, where the file does not say that they are not.
std::optional<std::pair<BoundValue, BoundValue>> exact_bounds(const ColumnForm& form,
                                                              const ColumnChunk& chunk) {
  const std::optional<bool> is_exact = chunk.statistics.is_exact;
  if (form.conversion == scan::Conversion::kReal || !is_exact.value_or(true)) return std::nullopt;
  if (form.physical == PhysicalType::kByteArray) {
    const auto min = text(form, chunk, false);
    const auto max = text(form, chunk, true);
    const bool is_whole = is_exact.has_value() || !form.is_stored;
    if (!is_whole || !min.has_value() || !max.has_value() || *max < *min) return std::nullopt;
    return std::pair(BoundValue(*min), BoundValue(*max));
  }
  const auto min = whole_number(form, chunk, false);
  const auto max = whole_number(form, chunk, true);
  if (!min.has_value() || !max.has_value() || *max < *min) return std::nullopt;
  if (!fits(form.type, *min) || !fits(form.type, *max)) return std::nullopt;
  return std::pair(BoundValue(*min), BoundValue(*max));
}

std::optional<std::pair<double, double>> stated_range(const scan::ParquetTable& table, int column) {
  std::optional<std::pair<double, double>> range;
  const auto& files = table.files().files();
  for (size_t f = 0; f < files.size(); ++f) {
    const auto file = static_cast<int>(f);
    const ColumnForm& form = table.columns()[static_cast<size_t>(column)].form_in(file);
    for (size_t g = 0; g < files[f]->metadata().row_groups.size(); ++g) {
      const ColumnChunk& chunk = table.chunk(column, file, static_cast<int>(g));
      if (chunk.statistics.null_count == chunk.values) continue;
      const auto low = number(form, chunk, false);
      const auto high = number(form, chunk, true);
      if (!low.has_value() || !high.has_value()) return std::nullopt;
      if (!range.has_value()) range = {*low, *high};
      range = {std::min(range->first, *low), std::max(range->second, *high)};
    }
  }
  return range;
}

}  // namespace crossdock::execution
