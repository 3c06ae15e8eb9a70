// What one launch codes: any number of columns, of any widths and schemes, as a table of plain values that a kernel
// reads. Columns of partitions are columns of their own. They are cut into tiles, to be encoded of kTileBlocks blocks
// and to be decoded of one, which are numbered through all columns, so that small ones share a launch with large ones.
//
// All pointers are the device's. A coded column is what ColumnCoder (data/codecs) reads and writes, byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/codecs/block_format.hpp"
#include "data/codecs/device/codec_scratch.hpp"
#include "data/rings/annotations.hpp"

namespace crossdock::codecs {

struct EncodeColumn {
  const std::byte* values = nullptr;  // on a multiple of the width
  uint64_t count = 0;
  uint64_t* out = nullptr;  // room for coded_bytes_max()
  uint64_t first_tile = 0;  // number_tiles() says
  CodecScheme scheme;
  uint8_t width = 8;
  bool is_signed = true;
};

struct DecodeColumn {
  const uint64_t* coded = nullptr;
  uint64_t coded_words = 0;
  std::byte* values = nullptr;  // on a multiple of the width
  uint64_t count = 0;           // what the caller expects, and has room for
  uint64_t first_tile = 0;      // number_tiles() says
  uint8_t width = 8;
};

// Work words of an encode: a ticket, a fault, the words of each coded column, and what each tile tells those behind it.
struct EncodeWork {
  const EncodeColumn* columns = nullptr;
  uint32_t column_count = 0;
  uint64_t tiles = 0;
  uint64_t* words = nullptr;    // encode_work_words(), cleared before every launch
  uint64_t stuck_after_ns = 0;  // that a tile waits for the one before it; 0: as long as it takes

  CD_HOST_DEVICE uint64_t& ticket() const { return words[0]; }
  CD_HOST_DEVICE uint64_t& fault() const { return words[1]; }
  CD_HOST_DEVICE uint64_t& coded_words(uint64_t column) const { return words[2 + column]; }
  CD_HOST_DEVICE uint64_t& state(uint64_t tile) const { return words[2 + column_count + tile]; }
};

struct DecodeWork {
  const DecodeColumn* columns = nullptr;
  uint32_t column_count = 0;
  uint64_t tiles = 0;
  uint64_t* fault = nullptr;  // one word, cleared before every launch
};

// A column without values has one too: its head.
CD_HOST_DEVICE constexpr uint64_t codec_blocks_of(uint64_t values) {
  return values == 0 ? 1 : (values + kBlockValues - 1) / kBlockValues;
}
constexpr uint64_t tiles_of(const EncodeColumn& column) {
  return (codec_blocks_of(column.count) + kTileBlocks - 1) / kTileBlocks;
}
constexpr uint64_t tiles_of(const DecodeColumn& column) { return codec_blocks_of(column.count); }
constexpr uint64_t encode_work_words(uint64_t columns, uint64_t tiles) {
  return 2 + columns + tiles;
}

// Words before a coded column's blocks: its head, and their ends.
CD_HOST_DEVICE constexpr uint64_t words_before_blocks(uint64_t values) {
  return 2 + ((values + kBlockValues - 1) / kBlockValues + 1) / 2;
}

// The column that has a tile.
template <class Column>
CD_HOST_DEVICE const Column& column_of(const Column* columns, uint32_t count, uint64_t tile) {
  uint32_t from = 0;
  for (uint32_t behind = count; behind - from > 1;) {
    const uint32_t middle = from + (behind - from) / 2;
    (columns[middle].first_tile <= tile ? from : behind) = middle;
  }
  return columns[from];
}

}  // namespace crossdock::codecs
