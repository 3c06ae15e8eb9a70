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

// As many as are decoded in turns at once: with more of them their places no longer fit the registers.
constexpr size_t kSnappyBlocksMost = 4;

// The same of some blocks, at most kSnappyBlocksMost, that are decoded in turns: what one waits for, the length of the
// element before, the others have meanwhile. Of short elements four take a third of the time of one after the other.
// Whether each is of the format.
std::array<bool, kSnappyBlocksMost> snappy_decompress(std::span<const SnappyBlock> blocks);

}  // namespace crossdock::scan
