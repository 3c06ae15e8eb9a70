// Columns that are hard on coders: what each level is made for, and what it is not.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "data/codecs/column_coder.hpp"

namespace crossdock::codecs {

struct HardColumn {
  std::string name;
  std::vector<int64_t> values;
};

inline std::vector<HardColumn> hard_columns(int64_t count) {
  std::mt19937_64 random(static_cast<uint64_t>(count));
  std::vector<HardColumn> columns = {{"equal", {}},
                                     {"equal but the last", {}},
                                     {"alternating ends", {}},
                                     {"ascending", {}},
                                     {"differences that overflow", {}},
                                     {"lines of orders", {}},
                                     {"runs of runs", {}},
                                     {"small", {}},
                                     {"any", {}}};
  int64_t order = 1;
  for (int64_t i = 0; i < count; ++i) {
    if (random() % 4 == 0) order += order % 32 == 7 ? 25 : 1;
    const auto far = static_cast<int64_t>(uint64_t{0x9000000000000000} * static_cast<uint64_t>(i));
    const int64_t values[] = {-7,
                              i + 1 == count ? 1 : 0,
                              i % 2 == 0 ? INT64_MIN : INT64_MAX,
                              3 * i - 1000,
                              far,
                              order,
                              i / 5 % 2 + i / 300,
                              static_cast<int64_t>(random() % 1000) - 500,
                              static_cast<int64_t>(random())};
    for (size_t k = 0; k < columns.size(); ++k) columns[k].values.push_back(values[k]);
  }
  return columns;
}

// The low bytes of each value, in words of memory: whatever the width, the first lies on a whole word.
inline std::vector<uint64_t> narrow_words(const std::vector<int64_t>& values, int width) {
  const auto bytes = static_cast<size_t>(width);
  std::vector<uint64_t> words((values.size() * bytes + 7) / 8);
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(reinterpret_cast<std::byte*>(words.data()) + i * bytes, &values[i], bytes);
  return words;
}

inline std::vector<CodecScheme> every_scheme() {
  std::vector<CodecScheme> schemes;
  for (uint8_t runs = 0; runs <= kRunLevelsMax; ++runs) {
    for (uint8_t deltas = 0; deltas <= kDeltaLevelsMax; ++deltas) schemes.push_back({runs, deltas});
  }
  return schemes;
}

// What the reference makes of it.
inline std::vector<uint64_t> reference_of(const CodecScheme& scheme,
                                          const CodedValues& kind,
                                          std::span<const std::byte> values) {
  const auto count = static_cast<int64_t>(values.size()) / kind.width;
  std::vector<uint64_t> coded(static_cast<size_t>(coded_bytes_max(count, kind.width)) / 8);
  ColumnCoder coder;
  const int64_t bytes =
      coder.encode(scheme, kind, values, std::as_writable_bytes(std::span(coded)));
  coded.resize(static_cast<size_t>(bytes) / 8);
  coded.shrink_to_fit();
  return coded;
}

}  // namespace crossdock::codecs
