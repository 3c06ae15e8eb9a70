#include "expressions/step_frame.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "expressions/checked_writer.hpp"
#include "expressions/powers.hpp"
#include "expressions/string_lanes.hpp"
#include "table/bitmap.hpp"

namespace crossdock::expressions::steps {

Value& Frame::open_value(int32_t index) const {
  Value& out = values[index];
  out = {};
  const Slot memory_of = slot(index);
  for (const int32_t argument : step(index).arguments) {
    const Value& value = values[argument];
    if (value.valid != nullptr && out.valid == nullptr) {
      std::memcpy(memory_of.valid, value.valid, static_cast<size_t>(count));
      out.valid = memory_of.valid;
    } else if (value.valid != nullptr) {
      for (int32_t i = 0; i < count; ++i) memory_of.valid[i] &= value.valid[i];
    }
    if (value.poison != nullptr && out.poison == nullptr) {
      std::copy_n(value.poison, count, memory_of.poison);
      out.poison = memory_of.poison;
    } else if (value.poison != nullptr) {
      for (int32_t i = 0; i < count; ++i) {
        if (memory_of.poison[i] == 0) memory_of.poison[i] = value.poison[i];
      }
    }
  }
  return out;
}

void Frame::poison(int32_t index, Value& out, int32_t row) const {
  if (out.valid != nullptr && out.valid[row] == 0) return;
  const Slot memory_of = slot(index);
  if (out.poison == nullptr) {
    std::fill_n(memory_of.poison, count, uint16_t{0});
    out.poison = memory_of.poison;
  }
  if (memory_of.poison[row] == 0) memory_of.poison[row] = static_cast<uint16_t>(index + 1);
}

int32_t known_bits(Value& value, int32_t count) {
  if (!value.bits_known) {
    value.bits = std::bit_width(lanes::magnitude(value.low, count));
    value.bits_known = true;
  }
  return value.bits;
}

bool divide_words(lanes::WordOp op, Value& of, int64_t divisor, int32_t count, uint64_t* to) {
  constexpr int32_t kBitsMost = 51;
  if (of.high != nullptr || bits_of(magnitude_of(divisor)) > kBitsMost) return false;
  if (known_bits(of, count) > kBitsMost) return false;
  lanes::combine_words(op, {of.low, nullptr, static_cast<uint64_t>(divisor)}, count, to);
  return true;
}

IntegerRange integer_range(const DataType& type) {
  if (type.id == TypeId::kDecimal128) {
    const Int128 limit = power_of_ten(type.precision) - 1;
    return {-limit, limit};
  }
  const int32_t bits = 8 * fixed_bytes(type);
  if (is_unsigned_integer(type.id)) return {0, (static_cast<Int128>(1) << bits) - 1};
  const Int128 limit = static_cast<Int128>(1) << (bits - 1);
  return {-limit, limit - 1};
}

namespace {

void load_decimals(const Frame& frame, const uint8_t* from, const Slot& slot, Value& out) {
  uint64_t magnitude = 0;
  out.low = slot.low;
  if (lanes::load_low_words(from, frame.count, slot.low, &magnitude)) {
    out.bits = std::bit_width(magnitude);
    return;
  }
  lanes::load_high_words(from, frame.count, slot.high);
  out.high = slot.high;
  out.bits = 64 + std::bit_width(lanes::magnitude(slot.high, frame.count));
}

void load_integers(const Frame& frame, const DataType& type, const uint8_t* from, Value& out) {
  const int32_t index = static_cast<int32_t>(&out - frame.values);
  const Slot slot = frame.slot(index);
  const int32_t bytes = fixed_bytes(type);
  out.low = slot.low;
  if (bytes == 16) {
    load_decimals(frame, from, slot, out);
  } else if (bytes == 8) {
    out.low = reinterpret_cast<const uint64_t*>(from);
    out.bits_known = false;
    if (type.id != TypeId::kUInt64) return;
    out.bits = std::bit_width(lanes::union_of(out.low, frame.count));
    out.bits_known = true;
    if (out.bits < 64) return;
    std::fill_n(slot.high, frame.count, uint64_t{0});
    out.high = slot.high;
  } else if (is_unsigned_integer(type.id)) {
    lanes::extend_unsigned(from, bytes, frame.count, slot.low);
    out.bits = 8 * bytes;
  } else {
    lanes::extend_signed(from, bytes, frame.count, slot.low);
    out.bits = 8 * bytes - 1;
  }
}

}  // namespace

void load_column(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const ColumnView& column = frame.batch->columns[expression.column];
  const Slot slot = frame.slot(index);
  Value& out = frame.values[index];
  out = {};
  if (column.validity != nullptr) {
    expand_bits(column.validity, column.offset + frame.begin, frame.count, slot.valid);
    out.valid = slot.valid;
  }
  const ValueDomain domain = expression.domain();
  if (domain == ValueDomain::kText) {
    if (expression.type.id == TypeId::kDictionary) drop_null_entries(frame, index);
    return;
  }
  if (domain == ValueDomain::kBool) {
    expand_bits(column.values, column.offset + frame.begin, frame.count, slot.bytes());
    out.bytes = slot.bytes();
    return;
  }
  if (column.is_narrow) {
    out.low = column.data<uint64_t>() + frame.begin;
    out.bits_known = false;
    return;
  }
  const int32_t bytes = fixed_bytes(expression.type);
  const uint8_t* from = column.values + (column.offset + frame.begin) * bytes;
  if (frame.step(index).is_compared_only) {
    out.int32s = reinterpret_cast<const int32_t*>(from);
    return;
  }
  if (domain == ValueDomain::kInteger) return load_integers(frame, expression.type, from, out);
  out.real = reinterpret_cast<const double*>(from);
  if (bytes == 8) return;
  lanes::extend_floats(reinterpret_cast<const float*>(from), frame.count, slot.real());
  out.real = slot.real();
}

void fill_literal(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const LiteralValue& literal = expression.values[0];
  const Slot slot = frame.slot(index);
  Value& out = frame.values[index];
  out = {};
  out.constant = true;
  if (literal.null) {
    std::fill_n(slot.valid, kBlockRows, uint8_t{0});
    out.valid = slot.valid;
  }
  switch (expression.domain()) {
    case ValueDomain::kBool:
      std::fill_n(slot.bytes(), kBlockRows, static_cast<uint8_t>(literal.integer));
      out.bytes = slot.bytes();
      return;
    case ValueDomain::kReal:
      std::fill_n(slot.real(), kBlockRows, literal.real);
      out.real = slot.real();
      return;
    case ValueDomain::kText:
      std::fill_n(slot.strings(), kBlockRows, std::string_view(literal.text));
      out.strings = slot.strings();
      return;
    case ValueDomain::kInteger:
      break;
  }
  const auto low = static_cast<uint64_t>(literal.integer);
  const auto high = static_cast<uint64_t>(literal.integer >> 64);
  std::fill_n(slot.low, kBlockRows, low);
  out.low = slot.low;
  const uint64_t sign = static_cast<uint64_t>(static_cast<int64_t>(low) >> 63);
  out.bits = std::bit_width(low ^ sign);
  if (high == sign) return;
  std::fill_n(slot.high, kBlockRows, high);
  out.high = slot.high;
  out.bits = 64 + std::bit_width(high ^ static_cast<uint64_t>(static_cast<int64_t>(high) >> 63));
}

}  // namespace crossdock::expressions::steps
