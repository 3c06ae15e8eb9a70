#include "data/sorters/decimal_words.hpp"

#include <cstring>

namespace crossdock::sorters {
namespace {

constexpr uint64_t kOdd = 0x9E3779B97F4A7C15U;

bool fits_signed(Int128 value) { return value == static_cast<int64_t>(value); }
bool fits_unsigned(Int128 value) { return value >= 0 && static_cast<UInt128>(value) >> 64 == 0; }

DecimalWord integer_word(Int128 value) {
  return {static_cast<uint64_t>(value),
          value < 0 ? DecimalSort::kNegative : DecimalSort::kPositive};
}

// Takes zeros off the end of a value that is not 0, down to a scale.
void strip_zeros(Int128& value, int32_t& scale, int32_t down_to) {
  while (scale > down_to && !fits_signed(value)) {
    if (value % 10 != 0) return;
    value /= 10;
    --scale;
  }
  auto narrow = static_cast<int64_t>(value);  // division by a constant is a multiplication here
  if (!fits_signed(value)) return;
  while (scale > down_to && narrow % 10 == 0) {
    narrow /= 10;
    --scale;
  }
  value = narrow;
}

// value * 10^zeros, if it has 64 bits.
bool add_zeros(Int128& value, int32_t zeros) {
  for (; zeros > 0; --zeros) {
    if (!fits_signed(value) && !fits_unsigned(value)) return false;
    value *= 10;
  }
  return fits_signed(value) || fits_unsigned(value);
}

uint64_t index_at(const DataType& type, const ColumnView& column, int64_t row) {
  uint64_t index = 0;  // of a NULL perhaps negative; then it is not read
  const int32_t width = fixed_bytes(type);
  std::memcpy(&index, column.values + (column.offset + row) * width, static_cast<size_t>(width));
  return index;
}

}  // namespace

DecimalWord decimal_word(Int128 value, int32_t scale) {
  if (value == 0) return {0, DecimalSort::kPositive};
  strip_zeros(value, scale, 0);
  Int128 integer = value;
  if (scale <= 0 && add_zeros(integer, -scale)) return integer_word(integer);
  strip_zeros(value, scale, INT32_MIN);
  const auto high = static_cast<uint64_t>(static_cast<UInt128>(value) >> 64);
  const uint64_t word =
      (static_cast<uint64_t>(value) ^ high * kOdd) + (static_cast<uint64_t>(scale) + 1) * kOdd;
  return {word, DecimalSort::kFraction};
}

void read_decimals(const DataType& type,
                   const ColumnView& column,
                   int64_t begin,
                   std::span<DecimalWord> words,
                   uint8_t* valid) {
  const bool is_dictionary = type.id == TypeId::kDictionary;
  const ColumnView& values = is_dictionary ? *column.dictionary : column;
  const int32_t scale = (is_dictionary ? *type.dictionary : type).scale;
  for (size_t i = 0; i < words.size(); ++i) {
    const int64_t row = begin + static_cast<int64_t>(i);
    words[i] = {0, DecimalSort::kFraction};
    valid[i] = column.is_valid(row);
    if (valid[i] == 0) continue;
    const int64_t at = is_dictionary ? static_cast<int64_t>(index_at(type, column, row)) : row;
    if (is_dictionary) valid[i] = values.is_valid(at);
    if (valid[i] == 0) continue;
    Int128 value;
    std::memcpy(&value, values.values + (values.offset + at) * 16, sizeof value);
    words[i] = decimal_word(value, scale);
  }
}

}  // namespace crossdock::sorters
