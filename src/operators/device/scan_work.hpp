// Kernels that fill words, number rows, gather, and turn counts into places: an exclusive scan in three steps, each of
// which reads its words once (the totals of tiles, the scan of these by one block, the words themselves).
//
// A kernel is a plain value with run(): block `place.block` of `place.blocks` calls it with its scratch (shared memory
// of the block) and its threads. Results do not depend on how many blocks and threads there are.
#pragma once

#include <cstdint>

#include "operators/device/block_group.hpp"

namespace crossdock::operators {

inline constexpr uint64_t kScanTileRows = 4096;
inline constexpr uint64_t kNoRow = UINT64_MAX;  // in lists of rows: none

struct ScanScratch {
  WarpTotals totals;
};

// words[i * stride], from `begin` to `end`, become the sums of those before them, from `base` on. Answers the total.
template <BlockGroup G>
CD_HOST_DEVICE uint64_t
scan_run(const G& group, uint64_t* words, uint64_t stride, TileRange range, ScanScratch& scratch) {
  uint64_t total = 0;
  for (uint64_t at = range.begin; at < range.end; at += group.size()) {
    const uint64_t mine = at + group.rank();
    const uint64_t value = mine < range.end ? words[mine * stride] : 0;
    const BlockPrefix prefix = block_prefix(group, value, scratch.totals);
    if (mine < range.end) words[mine * stride] = total + prefix.before;
    total += prefix.total;
  }
  return total;
}

// totals[t] = the sum of tile t. 8 bytes read per word.
struct TileTotals {
  static constexpr uint32_t kThreads = 512;
  using Scratch = ScanScratch;

  const uint64_t* words = nullptr;
  uint64_t count = 0;
  uint64_t stride = 1;
  uint64_t* totals = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    const uint64_t tiles = tiles_of(count, kScanTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      const TileRange range = tile_range(tile, kScanTileRows, count);
      uint64_t mine = 0;
      for_rows(group, range.begin, range.end, [&](uint64_t at) { mine += words[at * stride]; });
      const uint64_t total = block_total(group, mine, scratch.totals);
      if (group.rank() == 0) totals[tile] = total;
    }
  }
};

// By one block: words become the sums of those before them, and words[count] the sum of all.
struct ScanWords {
  static constexpr uint32_t kThreads = 1024;
  using Scratch = ScanScratch;

  uint64_t* words = nullptr;
  uint64_t count = 0;
  uint64_t stride = 1;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    if (place.block != 0) return;
    const uint64_t total = scan_run(group, words, stride, {0, count}, scratch);
    if (group.rank() == 0) words[count * stride] = total;
  }
};

// The same of each tile, on top of starts[tile]. 8 bytes read and 8 written per word.
struct ScanTiles {
  static constexpr uint32_t kThreads = 512;
  using Scratch = ScanScratch;

  uint64_t* words = nullptr;
  uint64_t count = 0;
  uint64_t stride = 1;
  const uint64_t* starts = nullptr;  // of all tiles, and the sum of all

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    const uint64_t tiles = tiles_of(count, kScanTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      const TileRange range = tile_range(tile, kScanTileRows, count);
      scan_run(group, words, stride, range, scratch);
      // Each thread its own words again, which nobody else has written.
      for_rows(
          group, range.begin, range.end, [&](uint64_t at) { words[at * stride] += starts[tile]; });
    }
    if (place.block == 0 && group.rank() == 0) words[count * stride] = starts[tiles];
  }
};

inline constexpr uint32_t kPatternMax = 40;

// words[i * stride] = pattern[i modulo pattern_words].
struct FillWords {
  static constexpr uint32_t kThreads = 512;
  using Scratch = ScanScratch;

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
  using Scratch = ScanScratch;

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
