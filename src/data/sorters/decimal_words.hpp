// Words of decimals that are equal for equal values, whatever their scales, and equal to those of integers.
#pragma once

#include <cstdint>
#include <span>

#include "base/int128.hpp"
#include "table/column.hpp"

namespace crossdock::sorters {

enum class DecimalSort : uint8_t { kFraction, kPositive, kNegative };  // kPositive: or 0

// An integer from -2^63 to 2^64 - 1 has the word that it has as an integer. What is none is stripped of the zeros at
// its end, and is a mix of what remains and of the scale.
struct DecimalWord {
  uint64_t word;
  DecimalSort sort;
};

// value * 10^-scale
DecimalWord decimal_word(Int128 value, int32_t scale);

// words[i] of row begin + i of a column of decimals, plain or in a dictionary, and whether it is a value; the word of a
// NULL is 0.
void read_decimals(const DataType& type,
                   const ColumnView& column,
                   int64_t begin,
                   std::span<DecimalWord> words,
                   uint8_t* valid);

}  // namespace crossdock::sorters
