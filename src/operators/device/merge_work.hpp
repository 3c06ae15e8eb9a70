// Merge join of sorted keys: for each row of the probe side the range of equal keys of the build side, by binary
// search.
//
// The first and the last row of a tile bound where all of its matches are, so two threads search the whole build
// side, the others only what is left between: as many rows as the tile has, about. What they touch is near each
// other, and in cache. Bound: both sides are read once, 8 bytes a row; the two searches of a tile of 2,048 rows are
// latencies, not bytes.
#pragma once

#include <cstdint>

#include "operators/device/match_work.hpp"

namespace crossdock::operators {

// The first place in [low, high) whose key is not less than `key`, or with `above` is greater; or `high`.
CD_HOST_DEVICE inline uint64_t search_sorted(const int64_t* keys,
                                             TileRange range,
                                             int64_t key,
                                             bool above) {
  while (range.begin < range.end) {
    const uint64_t middle = range.begin + (range.end - range.begin) / 2;
    if (above ? keys[middle] <= key : keys[middle] < key) {
      range.begin = middle + 1;
    } else {
      range.end = middle;
    }
  }
  return range.begin;
}

struct MergeProbe {
  static constexpr uint32_t kThreads = 512;
  struct Scratch {
    WarpTotals totals;
    uint64_t begin;
    uint64_t end;
  };

  const int64_t* keys = nullptr;  // both ascending
  uint64_t rows = 0;
  uint64_t key_rows = 0;  // those behind them have a NULL as key
  const int64_t* build_keys = nullptr;
  uint64_t build_rows = 0;  // that have a key
  ProbeMatches matches{};

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    const TileRange all{0, build_rows};
    const uint64_t tiles = tiles_of(rows, kMatchTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      const TileRange range = tile_range(tile, kMatchTileRows, rows);
      const uint64_t key_end = range.end < key_rows ? range.end : key_rows;
      const bool has_keys = range.begin < key_end;
      if (group.rank() == 0 && has_keys)
        scratch.begin = search_sorted(build_keys, all, keys[range.begin], false);
      if (group.rank() + 1 == group.size() && has_keys)
        scratch.end = search_sorted(build_keys, all, keys[key_end - 1], true);
      group.sync();
      const TileRange near{scratch.begin, scratch.end};
      const auto key_of = [&](uint64_t row) { return row < key_rows ? keys[row] : 0; };
      const auto find = [&](uint64_t row, int64_t key) -> MatchRange {
        if (row >= key_rows) return {};
        const uint64_t first = search_sorted(build_keys, near, key, false);
        const uint64_t end = search_sorted(build_keys, {first, near.end}, key, true);
        return {first, end - first};
      };
      // Syncs, so that no thread searches for the next tile before all have read this one.
      matches.write_tile(tile, range, scratch.totals, group, RowProbe{key_of, find});
    }
  }
};

}  // namespace crossdock::operators
