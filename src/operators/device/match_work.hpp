// Matches of a join, whichever way they are found: for each row of the probe side a range of build rows. They are
// counted by tile, a scan of the tiles says where each writes, and the threads of a block share the rows of its result
// evenly, so that one row with many matches keeps no thread alone.
#pragma once

#include <cstdint>

#include "operators/device/block_group.hpp"
#include "operators/device/word_work.hpp"

namespace crossdock::operators {

inline constexpr uint64_t kMatchTileRows = 2048;

enum class DeviceJoinKind : uint8_t {
  kInner,  // pairs
  kLeft,   // pairs, and rows of the probe side without one
  kSemi,   // rows of the probe side with a match
  kAnti,   // and without
  kRight,  // pairs, and rows of the build side without one
  kFull,   // pairs, and rows of both sides without one
};

struct MatchRange {
  uint64_t first = 0;
  uint64_t count = 0;
};

CD_HOST_DEVICE constexpr bool has_pairs(DeviceJoinKind kind) {
  return kind != DeviceJoinKind::kSemi && kind != DeviceJoinKind::kAnti;
}
CD_HOST_DEVICE constexpr bool keeps_build(DeviceJoinKind kind) {
  return kind == DeviceJoinKind::kRight || kind == DeviceJoinKind::kFull;
}

// Of a row of the probe side.
CD_HOST_DEVICE constexpr uint64_t rows_of_result(DeviceJoinKind kind, uint64_t matches) {
  switch (kind) {
    case DeviceJoinKind::kInner:
    case DeviceJoinKind::kRight:
      return matches;
    case DeviceJoinKind::kLeft:
    case DeviceJoinKind::kFull:
      return matches == 0 ? 1 : matches;
    case DeviceJoinKind::kSemi:
      return matches == 0 ? 0 : 1;
    default:
      return matches == 0 ? 1 : 0;
  }
}

// How a row finds its matches, in two steps: look(row) reads what has to be waited for, and find(row, what it read)
// answers.
template <class Look, class Find>
struct RowProbe {
  Look look;
  Find find;
};

// What finding writes. `firsts` and `counts`, of each row, may be left out where only numbers of rows are wanted.
struct ProbeMatches {
  DeviceJoinKind kind = DeviceJoinKind::kInner;
  uint64_t* firsts = nullptr;
  uint64_t* counts = nullptr;
  uint64_t* tile_rows = nullptr;  // of the result, by tile

  // Rows of a thread whose first reads are under way at once; four would not keep to the registers of three blocks.
  static constexpr uint32_t kUnderWay = 2;

  // Finds what probe.find(row, probe.look(row)) answers for every row of the tile.
  template <BlockGroup G, class Probe>
  CD_HOST_DEVICE void write_tile(uint64_t tile,
                                 TileRange range,
                                 WarpTotals& totals,
                                 const G& group,
                                 const Probe& probe) const {
    uint64_t mine = 0;
    for (uint64_t base = range.begin + group.rank(); base < range.end;
         base += uint64_t{kUnderWay} * group.size()) {
      decltype(probe.look(base)) looks[kUnderWay];
      for (uint32_t k = 0; k < kUnderWay; ++k) {
        const uint64_t row = base + uint64_t{k} * group.size();
        if (row < range.end) looks[k] = probe.look(row);
      }
      for (uint32_t k = 0; k < kUnderWay; ++k) {
        const uint64_t row = base + uint64_t{k} * group.size();
        if (row >= range.end) break;
        const MatchRange match = probe.find(row, looks[k]);
        mine += rows_of_result(kind, match.count);
        if (firsts == nullptr) continue;
        firsts[row] = match.first;
        counts[row] = match.count;
      }
    }
    const uint64_t total = block_total(group, mine, totals);
    if (group.rank() == 0) tile_rows[tile] = total;
  }
};

// The result's rows: numbers of rows of both sides, in the order of the probe side. Per row of the probe side 16 bytes
// are read, per row of the result 16 written and, where build rows are listed, 8 read.
struct ExpandMatches {
  static constexpr uint32_t kThreads = 512;
  struct Scratch {
    WarpTotals totals;
    uint64_t ends[kMatchTileRows];  // of each row's part of the tile's result
  };

  DeviceJoinKind kind = DeviceJoinKind::kInner;
  uint64_t rows = 0;
  const uint64_t* firsts = nullptr;
  const uint64_t* counts = nullptr;
  const uint64_t* tile_starts = nullptr;
  const uint64_t* probe_rows = nullptr;  // what rows are called; or by their places
  const uint64_t* build_rows = nullptr;  // ranges are of this list; or of numbers themselves
  uint64_t* out_probe = nullptr;
  uint64_t* out_build = nullptr;  // kNoRow where there is none; left out for kSemi and kAnti

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    const uint64_t tiles = tiles_of(rows, kMatchTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      const TileRange range = tile_range(tile, kMatchTileRows, rows);
      const uint64_t total = add_up(range, scratch, group);
      for (uint64_t at = group.rank(); at < total; at += group.size())
        write_row(range, at, tile_starts[tile] + at, scratch);
      group.sync();  // no thread adds up the next tile before all have read this one
    }
  }

 private:
  template <BlockGroup G>
  CD_HOST_DEVICE uint64_t add_up(TileRange range, Scratch& scratch, const G& group) const {
    uint64_t total = 0;
    for (uint64_t at = range.begin; at < range.end; at += group.size()) {
      const uint64_t row = at + group.rank();
      const uint64_t mine = row < range.end ? rows_of_result(kind, counts[row]) : 0;
      const BlockPrefix prefix = block_prefix(group, mine, scratch.totals);
      if (row < range.end) scratch.ends[row - range.begin] = total + prefix.before + mine;
      total += prefix.total;
    }
    group.sync();
    return total;
  }

  CD_HOST_DEVICE void write_row(TileRange range,
                                uint64_t at,
                                uint64_t to,
                                const Scratch& scratch) const {
    uint64_t low = 0;
    uint64_t high = range.end - range.begin - 1;
    while (low < high) {  // the first row whose part ends behind `at`
      const uint64_t middle = (low + high) / 2;
      if (scratch.ends[middle] > at) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    const uint64_t row = range.begin + low;
    out_probe[to] = probe_rows == nullptr ? row : probe_rows[row];
    if (out_build == nullptr) return;
    if (counts[row] == 0) {
      out_build[to] = kNoRow;
      return;
    }
    const uint64_t match = firsts[row] + at - (low == 0 ? 0 : scratch.ends[low - 1]);
    out_build[to] = build_rows == nullptr ? match : build_rows[match];
  }
};

}  // namespace crossdock::operators
