// Streams of bits: words as distances from a base, in lanes as block_format.hpp says. Compiled per instruction set.
#pragma once

#include <cstdint>

namespace crossdock::codecs {

// Lanes are read and written whole: `words` have room for kStreamLanes - 1 more than their count.

// Bits that the distances from `base` need, 0 to 64; base: the least as signed numbers. Of no words: 0 and 0.
struct StreamRange {
  uint64_t base = 0;
  int bits = 0;
};
StreamRange stream_range(const uint64_t* words, int count);

// Writes stream_words(count, bits) words. What is behind `words` up to a whole row becomes `base`.
void pack_stream(uint64_t* words, int count, uint64_t base, int bits, uint64_t* out);

void unpack_stream(const uint64_t* in, int count, uint64_t base, int bits, uint64_t* words);

}  // namespace crossdock::codecs
