#include "table/key_side.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.hpp"

namespace crossdock {
namespace {

constexpr int64_t kSecondsPerDay = 86400;
constexpr int32_t kMaxExponent = 38;  // 10^38 < 2^127

Stored stored_integer(int32_t bytes, bool is_signed) {
  if (bytes > 8) return Stored::kInt128;
  const Stored narrowest = is_signed ? Stored::kInt8 : Stored::kUInt8;
  return static_cast<Stored>(static_cast<int>(narrowest) +
                             std::countr_zero(static_cast<uint32_t>(bytes)));
}

Stored stored_as(const DataType& type) {
  switch (layout(type)) {
    case Layout::kBits:
      return Stored::kBit;
    case Layout::kOffsets32:
      return Stored::kBytes32;
    case Layout::kOffsets64:
      return Stored::kBytes64;
    case Layout::kViews:
      return Stored::kByteViews;
    case Layout::kFixed:
      break;
  }
  if (type.id == TypeId::kFloat16) return Stored::kFloat16;
  if (type.id == TypeId::kFloat32) return Stored::kFloat32;
  if (type.id == TypeId::kFloat64) return Stored::kFloat64;
  return stored_integer(fixed_bytes(type), !is_unsigned_integer(type.id));
}

bool is_unsigned_format(const std::string& format) {
  return !format.empty() && format[0] >= 'A' && format[0] <= 'Z';  // Arrow: C, S, I, L
}

void set_decimal_factor(KeySide& side, const DataType& type, int32_t scale) {
  const int32_t exponent = scale - (type.id == TypeId::kDecimal128 ? type.scale : 0);
  side.beyond = exponent > kMaxExponent;
  for (int32_t i = 0; i < std::min(exponent, kMaxExponent); ++i) side.factor *= 10;
}

void set_instant_factor(KeySide& side, const DataType& type, int64_t units_per_second) {
  if (type.id == TypeId::kDate32) {
    side.factor = kSecondsPerDay * units_per_second;
  } else if (type.id != TypeId::kDate64) {
    side.factor = units_per_second / type.units_per_second;
  } else {
    side.factor = units_per_second / 1000;
  }
}

}  // namespace

const uint8_t* readable_end(const ColumnView& column, Stored stored) {
  const int64_t last = column.offset + column.length;
  if (stored == Stored::kByteViews) return column.values + last * 16;
  if (stored == Stored::kBytes32) {
    return column.values + static_cast<const int32_t*>(column.offsets)[last];
  }
  return column.values + static_cast<const int64_t*>(column.offsets)[last];
}

KeySide make_key_side(const DataType& column_type, const KeyKind& kind) {
  KeySide side;
  side.form = kind.form;
  side.dictionary = column_type.id == TypeId::kDictionary;
  const DataType& type = side.dictionary ? *column_type.dictionary : column_type;
  side.stored = stored_as(type);
  if (side.dictionary) {
    side.index =
        stored_integer(fixed_bytes(column_type), !is_unsigned_format(column_type.arrow_format));
  }
  if (kind.form == KeyForm::kDecimal) set_decimal_factor(side, type, kind.scale);
  if (kind.form == KeyForm::kInstant) set_instant_factor(side, type, kind.units_per_second);
  return side;
}

double float16_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? HUGE_VAL : std::nan("");
  return (bits & 0x8000) != 0 ? -value : value;
}

}  // namespace crossdock
