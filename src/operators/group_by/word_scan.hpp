// What a block of words looks like as a whole: range, magnitude, order. Compiled per instruction set.
#pragma once

#include <cstdint>

namespace crossdock {

// As signed numbers. Of no words: min > max.
struct WordRange {
  int64_t min = INT64_MAX;
  int64_t max = INT64_MIN;
};
WordRange word_range(const uint64_t* words, int32_t count);

// The union of the bits of v ^ (v >> 63) over signed v: no |v| is above it plus one.
uint64_t word_magnitude(const uint64_t* words, int32_t count);

// Bits set in any of the words.
uint64_t word_union(const uint64_t* words, int32_t count);

// Whether signed words ascend (equal neighbours allowed), `previous` before the first.
bool words_ascend(const uint64_t* words, int32_t count, int64_t previous);
bool words_descend(const uint64_t* words, int32_t count, int64_t previous);

// Sums modulo 2^64, of all words.
uint64_t word_sum(const uint64_t* words, int32_t count);

}  // namespace crossdock
