// Keys that tables of a device must not stumble over, in shapes that meet each of its paths.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "operators/device/key_table.hpp"

namespace crossdock::operators::device_test {

// Of these words, some mean something to a table, and all are keys.
inline std::vector<int64_t> sentinel_like_keys() {
  using Limits = std::numeric_limits<int64_t>;
  return {0,
          -1,
          1,
          Limits::min(),
          Limits::max(),
          int64_t{1} << 32,
          -(int64_t{1} << 31),
          static_cast<int64_t>(kFreeKey),
          static_cast<int64_t>(kNoSlot - 1)};
}

// `rows` keys of about `distinct` values, spread over 64 bits; the first ones are sentinel-like.
inline std::vector<int64_t> spread_keys(uint64_t rows, uint64_t distinct) {
  std::vector<int64_t> keys;
  const std::vector<int64_t> special = sentinel_like_keys();
  uint64_t state = distinct;
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t number = next_random(state) % distinct;
    keys.push_back(number < special.size() ? special[number]
                                           : static_cast<int64_t>(number * 0x9E3779B97F4A7C15U));
  }
  return keys;
}

// Each once, in no order.
inline std::vector<int64_t> unique_keys(uint64_t rows) {
  std::vector<int64_t> keys = sentinel_like_keys();
  keys.resize(rows < keys.size() ? rows : keys.size());
  for (uint64_t row = keys.size(); row < rows; ++row)
    keys.push_back(static_cast<int64_t>((row + 99) * 0x9E3779B97F4A7C15U));
  return keys;
}

// Half of the rows have one key.
inline std::vector<int64_t> heavy_keys(uint64_t rows, uint64_t distinct) {
  std::vector<int64_t> keys = spread_keys(rows, distinct);
  for (uint64_t row = 0; row < rows; row += 2) keys[row] = -7;
  return keys;
}

}  // namespace crossdock::operators::device_test
