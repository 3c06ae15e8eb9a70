// Doubles as integers that compare alike.
#pragma once

#include <cmath>
#include <cstdint>

namespace crossdock::operators {

constexpr uint64_t kOrderedSignBit = uint64_t{1} << 63;

// -0.0 as 0.0. NaN without a sign is above all numbers.
inline uint64_t ordered_bits(double value) {
  const auto bits = __builtin_bit_cast(uint64_t, value + 0.0);
  return bits ^ (static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63) | kOrderedSignBit);
}

inline double ordered_value(uint64_t ordered) {
  const uint64_t bits =
      ordered ^ (static_cast<uint64_t>(~static_cast<int64_t>(ordered) >> 63) | kOrderedSignBit);
  return __builtin_bit_cast(double, bits);
}

// In proportion from `low` to `high`. An infinity beside a number is all that counts.
inline double between(double low, double high, double share) {
  if (share <= 0 || low == high) return low;
  const double distance = high - low;
  return std::isfinite(distance) ? low + distance * share : low * (1 - share) + high * share;
}

}  // namespace crossdock::operators
