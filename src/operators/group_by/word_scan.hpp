// What a block of words looks like as a whole: magnitude, order; and words as distances from the
// smallest, or without those that are left out. Compiled per instruction set.
#pragma once

#include <cstdint>

namespace crossdock::operators {

// The union of the bits of v ^ (v >> 63) over signed v: no |v| is above it plus one.
uint64_t word_magnitude(const uint64_t* words, int32_t count);

// Bits set in any of the words.
uint64_t word_union(const uint64_t* words, int32_t count);

// Whether signed words ascend (equal neighbours allowed), `previous` before the first.
bool words_ascend(const uint64_t* words, int32_t count, int64_t previous);
bool words_descend(const uint64_t* words, int32_t count, int64_t previous);

// Sums modulo 2^64, of all words.
uint64_t word_sum(const uint64_t* words, int32_t count);

// Whether any of the numbers is 0.
bool any_is_zero(const uint32_t* numbers, int32_t count);

// to[i] = (from[i] - base) << shift, shift < 64.
void shift_distances(const uint64_t* from, uint64_t base, int shift, int32_t count, uint64_t* to);

// The words whose byte in `keep` is 1 (others are 0), in their order. `to` may be `from`, and has room for
// `count`: what follows the kept ones there is anything.
void compact_words(const uint64_t* from, const uint8_t* keep, int32_t count, uint64_t* to);

// Asks for words that will be read soon. They need not exist. The passes over one block are too short for
// the hardware to see where the next begins; asked for, it arrives while this one is looked up.
inline void fetch_words(const uint64_t* words, int32_t count) {
  constexpr int32_t kLineWords = 8;
  for (int32_t i = 0; i < count; i += kLineWords) __builtin_prefetch(words + i, 0, 2);
}

}  // namespace crossdock::operators
