// Columns of whole numbers in fewer bytes: run lengths, differences, distances and bits, block by block.
//
// Made for what crosses a slow link or lies in a file: a decoder believes nothing that it reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "data/codecs/block_coder.hpp"
#include "data/codecs/block_format.hpp"

namespace crossdock::codecs {

// What the values are: whole numbers of 1, 2, 4 or 8 bytes. Signs matter for how few bits suffice, not for what
// comes out again.
struct CodedValues {
  int width = 8;
  bool is_signed = true;
};

// Bytes that `values` may take: a little more than as they are.
int64_t coded_bytes_max(int64_t values, int width);

// 50 KB of scratch. One thread at a time.
class ColumnCoder {
 public:
  // Writes `values`, of which there are whole ones, at most kColumnValuesMax, to `out`, which has room for
  // coded_bytes_max and lies on a whole word. Bytes written, a multiple of 8. Blocks that would not shrink stay as
  // they are.
  int64_t encode(const CodecScheme& scheme,
                 const CodedValues& kind,
                 std::span<const std::byte> values,
                 std::span<std::byte> out);

  // All values of a coded column, which lies on a whole word. `values` has the bytes that coded_values() says; CD-613
  // if `coded` is none of ours or has another size.
  Status decode(std::span<const std::byte> coded, std::span<std::byte> values);

 private:
  int encode_block(const CodecScheme& scheme,
                   const CodedValues& kind,
                   const std::byte* values,
                   int count,
                   uint64_t* out);
  Status decode_block(const CodedColumn& column,
                      std::span<const uint64_t> block,
                      int count,
                      std::byte* values);

  BlockCoder blocks_;
  uint64_t block_[BlockCoder::coded_words_max({kRunLevelsMax, kDeltaLevelsMax})];
};

// The head of a coded column, checked: width, levels, number of values, and that all ends of blocks are there. CD-613.
Result<CodedColumn> read_coded_column(std::span<const std::byte> coded);

// The width of a coded column times its values.
inline int64_t coded_values_bytes(const CodedColumn& column) {
  return static_cast<int64_t>(column.values) * column.width;
}

}  // namespace crossdock::codecs
