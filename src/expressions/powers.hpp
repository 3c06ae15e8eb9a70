// Powers of ten, and integers as float64: the arithmetic of decimal scales.
#pragma once

#include <cstdint>

#include "base/int128.hpp"

namespace crossdock::expressions {

// 10^digits, for 0 <= digits <= 38.
constexpr Int128 power_of_ten(int32_t digits) {
  Int128 power = 1;
  for (int32_t i = 0; i < digits; ++i) power *= 10;
  return power;
}

// 10^digits as a float64: exact up to 22.
inline double real_power_of_ten(int32_t digits) {
  return static_cast<double>(power_of_ten(digits));
}

// Halves are rounded apart, as pyarrow does beyond 64 bits.
inline double integer_to_real(Int128 value) {
  const bool negative = value < 0;
  const UInt128 size = negative ? -static_cast<UInt128>(value) : static_cast<UInt128>(value);
  const double real = static_cast<double>(static_cast<uint64_t>(size >> 64)) * 0x1p64 +
                      static_cast<double>(static_cast<uint64_t>(size));
  return negative ? -real : real;
}

}  // namespace crossdock::expressions
