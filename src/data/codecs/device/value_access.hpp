// Values of a width that is known only when a column comes, and heads of columns as the words that they lie in.
#pragma once

#include <bit>
#include <cstdint>

#include "data/codecs/block_format.hpp"
#include "data/rings/annotations.hpp"

namespace crossdock::codecs {

// Values of a block of a column that has `count`.
CD_HOST_DEVICE constexpr int values_in(uint64_t count, uint64_t block) {
  const uint64_t left = count - block * static_cast<uint64_t>(kBlockValues);
  return static_cast<int>(left < kBlockValues ? left : static_cast<uint64_t>(kBlockValues));
}

// A coded column's head, word by word: kernels write and read whole words.
struct ColumnHeadWords {
  uint64_t word[2];
};
static_assert(sizeof(ColumnHeadWords) == sizeof(CodedColumn));

CD_HOST_DEVICE constexpr ColumnHeadWords words_of_head(const CodedColumn& column) {
  return std::bit_cast<ColumnHeadWords>(column);
}
CD_HOST_DEVICE constexpr CodedColumn head_of_words(uint64_t first, uint64_t second) {
  return std::bit_cast<CodedColumn>(ColumnHeadWords{{first, second}});
}

}  // namespace crossdock::codecs
