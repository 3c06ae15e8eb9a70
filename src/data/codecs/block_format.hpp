// How coded blocks of a column lie in memory: plain numbers, for coders on processors and on GPUs alike.
//
// Up to kBlockValues values become a block, which is decoded without the others. A block is 8-byte words:
//
//   CodedBlock                   which levels there are, how many runs each has, and the bits of each stream
//   base                         the least value of the values' stream
//   first values                 one for each delta level
//   bases of runs                the least run of level 0 in the low 32 bits, of level 1 in the high ones; if there are
//   values, runs 0, runs 1       streams of bits
//
// A stream holds `count` distances from its base, `bits` each. Long streams lie in 16 lanes, so that a vector or a warp
// unpacks neighbours together: value i is in lane i % 16, at place i / 16 of it, and word w of lane l is word
// w * 16 + l. Short ones have one lane, or they would be mostly padding.
//
// Follows the cascades of nvCOMP (run lengths, differences, bits, in this order at each level) as the talk "Scaling
// joins to a thousand GPUs" uses them. Different from there: blocks stand alone, so that all blocks of all columns and
// partitions are coded at once, and a block that would grow lies there as it came.
#pragma once

#include <cstdint>

namespace crossdock::codecs {

inline constexpr int kBlockValues = 1024;
inline constexpr int kStreamLanes = 16;
inline constexpr int kLanedValuesMin = 256;  // in shorter streams the padding would outweigh
inline constexpr int kRunLevelsMax = 2;
inline constexpr int kDeltaLevelsMax = 2;

// Which levels a column goes through: runs, differences, runs, differences; bits at the end.
struct CodecScheme {
  uint8_t runs = 0;
  uint8_t deltas = 0;
  bool operator==(const CodecScheme&) const = default;
};

enum class BlockKind : uint8_t {
  kCoded = 0,
  kPlain = 1
};  // plain: values as they came, padded to whole words

// The first word of a block.
struct CodedBlock {
  BlockKind kind = BlockKind::kCoded;
  uint8_t value_bits = 0;
  uint8_t run_bits[kRunLevelsMax] = {0, 0};
  uint16_t runs[kRunLevelsMax] = {0, 0};  // how many there are
};
static_assert(sizeof(CodedBlock) == 8);

// The first words of a coded column; behind them the end of each block, in words from the first block's begin, as
// uint32, padded to whole words; then the blocks.
struct CodedColumn {
  uint32_t magic = 0;
  uint8_t width = 0;  // bytes of a value: 1, 2, 4 or 8
  CodecScheme scheme;
  uint8_t reserved = 0;
  uint64_t values = 0;
};
static_assert(sizeof(CodedColumn) == 16);

inline constexpr uint32_t kCodedMagic = 0x31434458;  // "XDC1"
inline constexpr uint64_t kColumnValuesMax = uint64_t{1} << 31;

constexpr int lanes_of(int count) { return count >= kLanedValuesMin ? kStreamLanes : 1; }
// Values in a lane, the last ones padded.
constexpr int rows_of(int count) { return (count + lanes_of(count) - 1) / lanes_of(count); }
constexpr int stream_words(int count, int bits) {
  return (rows_of(count) * bits + 63) / 64 * lanes_of(count);
}
constexpr int plain_words(int count, int width) { return (count * width + 7) / 8; }
constexpr int blocks_of(uint64_t values) {
  return static_cast<int>((values + kBlockValues - 1) / kBlockValues);
}

// Calls with a value of the type that values of so many bytes have. In kernels, too.
template <class Call>
constexpr void with_type(int width, bool is_signed, const Call& call) {
  switch (width) {
    case 1:
      return is_signed ? call(int8_t{}) : call(uint8_t{});
    case 2:
      return is_signed ? call(int16_t{}) : call(uint16_t{});
    case 4:
      return is_signed ? call(int32_t{}) : call(uint32_t{});
    default:
      return call(uint64_t{});
  }
}

// Words before a block's streams.
constexpr int head_words(const CodecScheme& scheme) {
  return 2 + scheme.deltas + (scheme.runs > 0 ? 1 : 0);
}

}  // namespace crossdock::codecs
