// The least and the greatest of a block of words. Compiled per instruction set.
#pragma once

#include <cstdint>

namespace crossdock {

// As signed numbers. Of no words: min > max.
struct WordRange {
  int64_t min = INT64_MAX;
  int64_t max = INT64_MIN;
};
WordRange word_range(const uint64_t* words, int32_t count);

}  // namespace crossdock
