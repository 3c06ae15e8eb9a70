// Decompression of LZ4's block format (github.com/lz4/lz4, doc/lz4_Block_format.md), with every length and offset
// checked.
#pragma once

#include <cstdint>
#include <span>

namespace crossdock::scan {

// False where `in` is not of the format, or does not fill `out`.
bool lz4_decompress(std::span<const uint8_t> in, std::span<uint8_t> out);
// The same of blocks as Hadoop frames them, each behind its size and that of its content in big-endian words; or of
// one block without a frame, which some writers call by the same name.
bool hadoop_lz4_decompress(std::span<const uint8_t> in, std::span<uint8_t> out);

}  // namespace crossdock::scan
