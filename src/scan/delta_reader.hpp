// Parquet's DELTA_BINARY_PACKED: whole numbers by their differences, packed in miniblocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace crossdock::scan {

struct DeltaNumbers {
  std::vector<int64_t> values;
  size_t bytes = 0;  // that they took
};

// All numbers at the begin of `bytes`, at most `most`. Differences wrap around. Error kSourceFailed.
Result<DeltaNumbers> read_deltas(std::span<const uint8_t> bytes, int64_t most);

}  // namespace crossdock::scan
