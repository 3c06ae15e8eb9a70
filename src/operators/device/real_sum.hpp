// Sums of floats as long whole numbers: exact, so the same to the last bit in any order, and rounded once at the end.
// They are what the CPU's exact sums are; only as many words are kept as the values of a column need, since positions
// of their lowest and highest bits are known before.
//
// Bit 0 of a sum weighs 2^(unit - 1074), where `unit` is the lowest bit that any of the values has.
#pragma once

#include <cstdint>

#include "data/rings/annotations.hpp"

namespace crossdock::operators {

inline constexpr uint32_t kRealSumWordsMax = 35;  // of any doubles
inline constexpr uint32_t kUnitOfOne = 1074;

// Values that are no numbers, as bits of a word beside the sum.
inline constexpr uint64_t kHasNan = 1;
inline constexpr uint64_t kHasInfinity = 2;
inline constexpr uint64_t kHasMinusInfinity = 4;

CD_HOST_DEVICE constexpr uint32_t bit_length(uint64_t word) {
  uint32_t bits = word == 0 ? 0 : 1;
  for (uint32_t step = 32; step != 0; step /= 2) {
    if (word >> step == 0) continue;
    word >>= step;
    bits += step;
  }
  return bits;
}

// A double as ±mantissa * 2^(position - 1074).
struct RealParts {
  uint64_t mantissa = 0;
  uint32_t position = 0;
  bool is_negative = false;
  uint64_t special = 0;

  CD_HOST_DEVICE static constexpr RealParts of(uint64_t bits) {
    RealParts parts;
    const auto exponent = static_cast<uint32_t>(bits >> 52 & 0x7FF);
    parts.mantissa = bits & ((uint64_t{1} << 52) - 1);
    parts.is_negative = bits >> 63 != 0;
    if (exponent == 0x7FF) {
      parts.special = parts.mantissa != 0 ? kHasNan
                    : parts.is_negative   ? kHasMinusInfinity
                                          : kHasInfinity;
      parts.mantissa = 0;
    } else if (exponent != 0) {
      parts.mantissa |= uint64_t{1} << 52;
      parts.position = exponent - 1;
    }
    return parts;
  }
  // Of a mantissa that is not 0.
  CD_HOST_DEVICE constexpr uint32_t lowest() const {
    return position + bit_length(mantissa & (~mantissa + 1)) - 1;
  }
  CD_HOST_DEVICE constexpr uint32_t end() const { return position + bit_length(mantissa); }
};

// A value that is no special and not 0, as words of a sum.
struct RealDigits {
  uint32_t first = 0;
  uint64_t low = 0;
  uint64_t high = 0;
  bool is_negative = false;

  CD_HOST_DEVICE static constexpr RealDigits of(const RealParts& parts, uint32_t unit) {
    RealDigits digits;
    uint64_t mantissa = parts.mantissa;
    uint32_t shift = 0;
    if (parts.position < unit) {
      mantissa >>= unit - parts.position;  // zeros only
    } else {
      shift = parts.position - unit;
    }
    digits.first = shift / 64;
    digits.low = mantissa << shift % 64;
    digits.high = shift % 64 == 0 ? 0 : mantissa >> (64 - shift % 64);
    digits.is_negative = parts.is_negative;
    return digits;
  }
  // In two's complement.
  CD_HOST_DEVICE constexpr uint64_t operator()(uint32_t word) const {
    if (word < first) return 0;
    if (word == first) return is_negative ? ~low + 1 : low;
    if (word > first + 1) return is_negative ? UINT64_MAX : 0;
    return is_negative ? ~high + (low == 0 ? 1 : 0) : high;
  }
};

// The double nearest to a sum, of two equally near the even one; `digits` are changed.
CD_HOST_DEVICE constexpr uint64_t round_real_sum(uint64_t* digits, uint32_t words, uint32_t unit) {
  const bool is_negative = digits[words - 1] >> 63 != 0;
  bool carry = is_negative;
  for (uint32_t word = 0; is_negative && word < words; ++word) {
    digits[word] = ~digits[word] + (carry ? 1 : 0);
    carry = carry && digits[word] == 0;
  }
  uint32_t top = words;
  while (top > 0 && digits[top - 1] == 0) --top;
  if (top == 0) return 0;
  const uint32_t bits = 64 * (top - 1) + bit_length(digits[top - 1]);
  const uint32_t lowest = bits > 53 ? bits - 53 : 0;
  const uint32_t from = lowest / 64;
  uint64_t mantissa = digits[from] >> lowest % 64;
  if (lowest % 64 != 0 && from + 1 < words) mantissa |= digits[from + 1] << (64 - lowest % 64);
  mantissa &= (uint64_t{1} << 53) - 1;
  if (lowest != 0) {
    const uint32_t half = lowest - 1;
    bool is_more = (digits[half / 64] & ((uint64_t{1} << half % 64) - 1)) != 0;
    for (uint32_t word = 0; word < half / 64; ++word) is_more |= digits[word] != 0;
    const bool is_half = (digits[half / 64] >> half % 64 & 1) != 0;
    if (is_half && (is_more || (mantissa & 1) != 0)) ++mantissa;
  }
  uint32_t position = unit + lowest;
  while (mantissa < uint64_t{1} << 52 && position > 0) {
    mantissa <<= 1;
    --position;
  }
  if (mantissa >> 53 != 0) {
    mantissa >>= 1;
    ++position;
  }
  const uint64_t sign = is_negative ? uint64_t{1} << 63 : 0;
  if (mantissa < uint64_t{1} << 52) return sign | mantissa;  // below the least exponent
  if (position + 1 >= 0x7FF) return sign | uint64_t{0x7FF} << 52;
  return sign | uint64_t{position + 1} << 52 | (mantissa & ((uint64_t{1} << 52) - 1));
}

// What specials make of a sum, whatever its numbers are; 0 if there are none.
CD_HOST_DEVICE constexpr uint64_t real_of_specials(uint64_t specials) {
  constexpr uint64_t kInfinity = uint64_t{0x7FF} << 52;
  if (specials == kHasInfinity) return kInfinity;
  if (specials == kHasMinusInfinity) return uint64_t{1} << 63 | kInfinity;
  return specials == 0 ? 0 : kInfinity | uint64_t{1} << 51;
}

}  // namespace crossdock::operators
