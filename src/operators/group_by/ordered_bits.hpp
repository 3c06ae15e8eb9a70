// Doubles as integers that compare alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "table/key_word.hpp"

namespace crossdock::operators {

// -0.0 as 0.0. NaN without a sign is above all numbers.
inline uint64_t ordered_bits(double value) {
  return order_of_float(__builtin_bit_cast(uint64_t, value + 0.0));
}

inline double ordered_value(uint64_t ordered) {
  return __builtin_bit_cast(double, float_of_order(ordered));
}

// The first rank up to which at least a share of `count` values lies. What is behind it is rounded down, as 0.07 * 100
// would be more than 7.
inline int64_t discrete_rank(double share, int64_t count) {
  const auto values = static_cast<double>(count);
  const auto behind = static_cast<int64_t>(std::floor(values - share * values));
  return std::max<int64_t>(count - behind, 1) - 1;
}

// In proportion from `low` to `high`. An infinity beside a number is all that counts.
inline double between(double low, double high, double share) {
  if (share <= 0 || low == high) return low;
  const double distance = high - low;
  return std::isfinite(distance) ? low + distance * share : low * (1 - share) + high * share;
}

}  // namespace crossdock::operators
