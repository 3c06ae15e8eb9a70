// Decompression of Snappy's block format (github.com/google/snappy, format_description.txt), with every length and
// offset checked. A decoder of its own, since it does twice the rate of the library that Arrow brings along:
// docs/decisions/what-bounds-reading.md.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace crossdock::scan {

// Writes at most `out.size()` bytes, the first of what `in` holds. False where `in` is not of the format, or does not
// say `bytes` as its uncompressed size. Bytes of `out` behind what is written may be changed.
bool snappy_decompress(std::span<const uint8_t> in, int64_t bytes, std::span<uint8_t> out);

// All that `in` holds, which fills `out`.
struct SnappyBlock {
  std::span<const uint8_t> in;
  std::span<uint8_t> out;
};

// The same of two that are decoded in turns, which for short elements takes half of the time of one after the other;
// whether each is of the format.
std::array<bool, 2> snappy_decompress(const SnappyBlock& first, const SnappyBlock& second);

}  // namespace crossdock::scan
