// The least and the greatest of a block of words, and values of two words apart. Compiled per instruction set.
#pragma once

#include <cstdint>

namespace crossdock {

// As signed numbers. Of no words: min > max.
struct WordRange {
  int64_t min = INT64_MAX;
  int64_t max = INT64_MIN;
};
WordRange word_range(const uint64_t* words, int32_t count);

// Values of 128 bits that lie side by side, of any alignment, as lower and upper words. Whether all upper words are but
// the signs of the lower ones.
bool split_wide_words(const uint8_t* from, int32_t count, uint64_t* low, uint64_t* high);

}  // namespace crossdock
