// What the threads of a group share while they code a block, and what they find out of all their values together: sums
// of those before, and ranges.
//
// Everything here is a collective of a group (data/rings/coop.hpp) and the same source for threads of a GPU and of a
// CPU, but for sums and ranges, which cost log2(threads) + 2 syncs in memory that the group shares. A group that knows
// a shorter way, as one of warps does (codec_member.cuh), has it in sum_before() and range() of its own: two syncs.
#pragma once

#include <cstdint>

#include "data/codecs/bit_streams.hpp"
#include "data/codecs/block_format.hpp"
#include "data/rings/coop.hpp"

namespace crossdock::codecs {

inline constexpr uint32_t kCodecThreadsMax = 128;  // that code a block together
inline constexpr int kTileBlocks = 4;              // of an encoder's tile, which looks back once
inline constexpr uint32_t kLookBackMax = 32;       // tiles that one look back sees

// Where value i lies: a thread works through neighbours, and with a gap after every eighth the threads of a warp find
// theirs in different banks.
constexpr int skewed(int i) { return i + i / 8; }

// Shared by a group; 25 KiB, which is shared memory in a kernel. Without initial values, since shared memory has none.
struct CodecScratch {
  uint64_t words[2][skewed(kBlockValues)];  // of a level, and of the next one
  uint16_t starts[kRunLevelsMax][kBlockValues + 1];
  uint64_t parts[2][kCodecThreadsMax];
  uint64_t ahead[kLookBackMax];
};

// Of the threads that code a tile: a part for each of its blocks, and what they tell each other.
struct EncodeScratch {
  CodecScratch blocks[kTileBlocks];
  uint64_t lengths[kTileBlocks];  // in words
  uint64_t tile;
  uint64_t before;  // words of the column before the tile
};

// Neighbours [begin, end) of `count` values, for each thread its own.
struct CodecShare {
  int begin;
  int end;
};

template <rings::Coop C>
CD_HOST_DEVICE CodecShare share_of(const C& coop, int count) {
  const auto threads = static_cast<int>(coop.size());
  const int each = (count + threads - 1) / threads;
  const int begin = static_cast<int>(coop.rank()) * each;
  if (begin >= count) return {count, count};
  return {begin, begin + each < count ? begin + each : count};
}

struct SumBefore {
  uint64_t before;  // of the threads of lower rank
  uint64_t total;
};

template <rings::Coop C>
CD_HOST_DEVICE SumBefore sum_before(uint64_t mine, CodecScratch& scratch, const C& coop) {
  if constexpr (requires { coop.sum_before(mine); }) {
    return coop.sum_before(mine);
  } else {
    const uint32_t rank = coop.rank();
    int side = 0;
    scratch.parts[side][rank] = mine;
    coop.sync();
    for (uint32_t step = 1; step < coop.size(); step *= 2, side ^= 1) {
      const uint64_t left = rank >= step ? scratch.parts[side][rank - step] : 0;
      scratch.parts[side ^ 1][rank] = left + scratch.parts[side][rank];
      coop.sync();
    }
    const SumBefore sums{scratch.parts[side][rank] - mine, scratch.parts[side][coop.size() - 1]};
    coop.sync();  // no thread writes the next parts before all have read these
    return sums;
  }
}

CD_HOST_DEVICE constexpr int significant_bits(uint64_t word) {
  int bits = 0;
  for (int step = 32; step > 0; step /= 2) {
    if (word >> step == 0) continue;
    word >>= step;
    bits += step;
  }
  return bits + static_cast<int>(word);
}

// As stream_range() does, of value_at(0) … value_at(count - 1).
template <rings::Coop C, class ValueAt>
CD_HOST_DEVICE StreamRange
range_of(int count, CodecScratch& scratch, const C& coop, const ValueAt& value_at) {
  if (count == 0) return {};
  const uint32_t rank = coop.rank();
  int64_t least = INT64_MAX;
  int64_t most = INT64_MIN;
  const auto widen = [&](int64_t low, int64_t high) {
    least = low < least ? low : least;
    most = high > most ? high : most;
  };
  for (auto i = static_cast<int>(rank); i < count; i += static_cast<int>(coop.size())) {
    const auto value = static_cast<int64_t>(value_at(i));
    widen(value, value);
  }
  if constexpr (requires { coop.range(least, most); }) {
    const auto [base, last] = coop.range(least, most);
    return {base, significant_bits(last - base)};
  } else {
    for (uint32_t step = 1;; step *= 2) {
      scratch.parts[0][rank] = static_cast<uint64_t>(least);
      scratch.parts[1][rank] = static_cast<uint64_t>(most);
      coop.sync();
      if (step >= coop.size()) break;
      const uint32_t from = rank + step;
      const bool is_there = rank % (2 * step) == 0 && from < coop.size();
      if (is_there) {
        widen(static_cast<int64_t>(scratch.parts[0][from]),
              static_cast<int64_t>(scratch.parts[1][from]));
      }
      coop.sync();
    }
    const uint64_t base = scratch.parts[0][0];
    const uint64_t distance = scratch.parts[1][0] - base;
    coop.sync();  // as in sum_before
    return {base, significant_bits(distance)};
  }
}

// The words of a level, and beside them those of the next.
template <rings::Coop C>
class LevelWords {
 public:
  CD_HOST_DEVICE LevelWords(CodecScratch& scratch, const C& coop)
      : scratch_(scratch), coop_(coop) {}

  CD_HOST_DEVICE uint64_t& at(int i) const { return scratch_.words[side_][skewed(i)]; }
  CD_HOST_DEVICE uint64_t& next(int i) const { return scratch_.words[side_ ^ 1][skewed(i)]; }
  // When each thread has written its part of the next words: they become the words, for all.
  CD_HOST_DEVICE void turn() {
    side_ ^= 1;
    coop_.sync();
  }

 private:
  CodecScratch& scratch_;
  const C& coop_;
  int side_ = 0;
};

}  // namespace crossdock::codecs
