// Kernels that fill words, number rows, and gather.
//
// A kernel is a plain value with run(): block `place.block` of `place.blocks` calls it with its scratch (shared memory
// of the block) and its threads. Results do not depend on how many blocks and threads there are.
#pragma once

#include <cstdint>

#include "operators/device/block_group.hpp"

namespace crossdock::operators {

inline constexpr uint64_t kNoRow = UINT64_MAX;  // in lists of rows: none

struct BlockScratch {
  WarpTotals totals;
};

inline constexpr uint32_t kPatternMax = 40;

// words[i * stride] = pattern[i modulo pattern_words].
struct FillWords {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  uint64_t* words = nullptr;
  uint64_t count = 0;
  uint64_t stride = 1;
  uint32_t pattern_words = 1;
  uint64_t pattern[kPatternMax] = {};

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t step = uint64_t{place.blocks} * group.size();
    uint64_t at = uint64_t{place.block} * group.size() + group.rank();
    auto which = static_cast<uint32_t>(at % pattern_words);
    const auto ahead = static_cast<uint32_t>(step % pattern_words);
    for (; at < count; at += step) {
      words[at * stride] = pattern[which];
      which += ahead;
      if (which >= pattern_words) which -= pattern_words;
    }
  }
};

// to[i] = i, or with `from` its word i, or with `rows` the word of row rows[i]; `absent` where that is kNoRow.
struct GatherWords {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  uint64_t* to = nullptr;
  uint64_t count = 0;
  const uint64_t* from = nullptr;
  const uint64_t* rows = nullptr;
  uint64_t absent = 0;

  CD_HOST_DEVICE uint64_t word(uint64_t at) const {
    if (from == nullptr) return at;
    if (rows == nullptr) return from[at];
    return rows[at] == kNoRow ? absent : from[rows[at]];
  }

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t step = uint64_t{place.blocks} * group.size();
    for (uint64_t at = uint64_t{place.block} * group.size() + group.rank(); at < count; at += step)
      to[at] = word(at);
  }
};

}  // namespace crossdock::operators
