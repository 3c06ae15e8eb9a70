// Hash partition of whole columns: rows of a table in the order of their partitions, those of one partition in the
// order in which they were (stable, so that runs and sorted keys stay compressible).
//
// Two passes, and no atomic operation per row in memory: each block counts its own range of rows by partition, one
// exclusive scan of (partition, block) makes these counts the places where each block writes, and the second pass sorts
// tiles of 4,096 rows in shared memory, so that what is random stays there and neighbouring threads write neighbouring
// rows (Gao and Sakharnykh, "Scaling joins to a thousand GPUs"; radix sorts of GPUs rank the same way). With 256 ways a
// tile has 16 rows of a partition, 128 bytes of an 8-byte lane.
//
// Rows that a filter leaves out take no place, and lanes that are not named stay where they are: filter and projection
// cost the filter's column, read twice, and save what is not written.
//
// Bound: the key is read twice, each lane read and written once. Rows of 8 + 8 bytes: 8 + 16 + 16 = 40 bytes, where a
// copy moves 32, so 80 % of the copy rate at most.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/rings/atomic.hpp"
#include "operators/device/block_group.hpp"
#include "table/word_mix.hpp"

namespace crossdock::operators {

inline constexpr uint32_t kPartitionWaysMax = 256;
inline constexpr uint32_t kPartitionLanesMax = 16;
inline constexpr uint32_t kPartitionTileRows = 4096;
inline constexpr uint32_t kPartitionWarpsMax = 16;

// Which partition a key goes to: that of the CPU's operator for the same mix, or by digit.
struct PartitionRule {
  WordMix mix{};
  uint32_t ways = 1;  // at most kPartitionWaysMax
  bool is_digit =
      false;  // key >> shift modulo ways, a power of two: radix, or numbers that are given
  uint32_t shift = 0;

  CD_HOST_DEVICE constexpr uint32_t number(uint64_t key) const {
    if (is_digit) return static_cast<uint32_t>(key >> shift) & (ways - 1);
    // The top half of the product: even, and without a division, for any number of partitions.
    return static_cast<uint32_t>((mix.mix(key) >> 32) * ways >> 32);
  }
};

// Integer keys of 4 bytes count as what they are in 8, so that both go to one partition; bytes are unsigned.
struct PartitionKeys {
  const std::byte* data = nullptr;
  uint32_t width_bytes = 8;

  CD_HOST_DEVICE uint64_t at(uint64_t row) const {
    if (width_bytes == 8) return reinterpret_cast<const uint64_t*>(data)[row];
    if (width_bytes == 1) return static_cast<uint64_t>(data[row]);
    return static_cast<uint64_t>(int64_t{reinterpret_cast<const int32_t*>(data)[row]});
  }
};

// Rows whose value is from `low` to `high`; all where there is no column. Other rows go nowhere.
struct PartitionFilter {
  PartitionKeys values{};
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;

  CD_HOST_DEVICE bool keeps(uint64_t row) const {
    if (values.data == nullptr) return true;
    const auto value = static_cast<int64_t>(values.at(row));
    return low <= value && value <= high;
  }
};

struct PartitionLane {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  uint32_t width_bytes = 8;  // 1, 2, 4 or 8
};

// Rows of block b: rows_per_block of them, one behind the other, from b * rows_per_block on.
struct BlockRows {
  uint64_t rows = 0;
  uint64_t rows_per_block = 0;  // whole tiles

  CD_HOST_DEVICE TileRange of(uint32_t block) const {
    const uint64_t begin = block * rows_per_block;
    if (begin >= rows) return {rows, rows};
    return {begin, rows - begin < rows_per_block ? rows : begin + rows_per_block};
  }
};

// counts[partition * blocks + block]. Reads the keys once.
struct PartitionCount {
  static constexpr uint32_t kThreads = 512;
  static constexpr uint32_t kCopies = 4;    // of the counts, so that fewer threads meet at one word
  static constexpr uint32_t kUnderWay = 8;  // keys of a thread that are read at once
  static constexpr uint32_t kNoWay = kPartitionWaysMax;
  struct Scratch {
    uint32_t counts[kCopies][kPartitionWaysMax];
  };

  PartitionKeys keys{};
  PartitionRule rule{};
  PartitionFilter filter{};
  BlockRows block_rows{};
  uint64_t* counts = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    using Count = typename Memory::template Atomic<uint32_t, rings::Scope::kBlock>;
    for (uint32_t way = group.rank(); way < rule.ways; way += group.size()) {
      for (auto& copy : scratch.counts) copy[way] = 0;
      counts[uint64_t{way} * place.blocks + place.block] = 0;
    }
    // A range of more rows than a count of 32 bits holds is counted in parts.
    constexpr uint64_t kPartRows = uint64_t{1} << 31;
    TileRange part = block_rows.of(place.block);
    const uint64_t end = part.end;
    for (; part.begin < end; part.begin = part.end) {
      part.end = end - part.begin < kPartRows ? end : part.begin + kPartRows;
      group.sync();
      uint32_t* mine = scratch.counts[group.warp() % kCopies];
      for (uint64_t base = part.begin + group.rank(); base < part.end;
           base += uint64_t{kUnderWay} * group.size()) {
        uint32_t ways[kUnderWay];
        for (uint32_t k = 0; k < kUnderWay; ++k) {
          const uint64_t row = base + uint64_t{k} * group.size();
          ways[k] = row < part.end && filter.keeps(row) ? rule.number(keys.at(row)) : kNoWay;
        }
        for (const uint32_t way : ways)
          if (way != kNoWay) Count(mine[way]).fetch_add(1, rings::Relaxed{});
      }
      group.sync();
      for (uint32_t way = group.rank(); way < rule.ways; way += group.size()) {
        uint64_t& count = counts[uint64_t{way} * place.blocks + place.block];
        for (auto& copy : scratch.counts) {
          count += copy[way];
          copy[way] = 0;
        }
      }
    }
  }
};

// Writes every lane in the order of partitions, from the counts' scan.
struct PartitionScatter {
  static constexpr uint32_t kThreads = 512;
  static constexpr uint32_t kNoWay = kPartitionWaysMax;  // of rows that go nowhere
  static constexpr uint16_t kNoPlace = UINT16_MAX;       // the same
  // Loads of a thread that are under way at once; a constant, so that they stay in registers.
  static constexpr uint32_t kUnderWay = 8;
  struct Scratch {
    uint64_t staged[kPartitionTileRows];
    uint64_t cursors[kPartitionWaysMax];  // where the block's next row of a partition goes
    uint64_t shifts[kPartitionWaysMax];   // from a row's place in the tile to its place in the lane
    WarpTotals totals;
    uint32_t starts[kPartitionWaysMax];  // in the tile
    uint16_t counts[kPartitionWarpsMax][kPartitionWaysMax];
    uint16_t places[kPartitionTileRows];
    uint8_t ways[kPartitionTileRows];    // by row
    uint8_t way_at[kPartitionTileRows];  // by place
  };

  PartitionKeys keys{};
  PartitionRule rule{};
  PartitionFilter filter{};
  BlockRows block_rows{};
  const uint64_t* starts = nullptr;  // counts after their scan
  uint64_t* offsets = nullptr;       // written: where each partition begins, and the number of rows
  uint32_t lane_count = 0;
  PartitionLane lanes[kPartitionLanesMax] = {};

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    for (uint32_t way = group.rank(); way < rule.ways; way += group.size()) {
      const uint64_t start = starts[uint64_t{way} * place.blocks + place.block];
      scratch.cursors[way] = start;
      if (place.block == 0) offsets[way] = start;
    }
    if (place.block == 0 && group.rank() == 0)
      offsets[rule.ways] = starts[uint64_t{rule.ways} * place.blocks];
    const TileRange mine = block_rows.of(place.block);
    for (uint64_t first = mine.begin; first < mine.end; first += kPartitionTileRows) {
      const uint64_t left = mine.end - first;
      const auto rows =
          static_cast<uint32_t>(left < kPartitionTileRows ? left : kPartitionTileRows);
      rank_rows(first, rows, scratch, group);
      const Tile tile{first, rows, place_ways(scratch, group)};
      place_rows(rows, scratch, group);
      for (uint32_t lane = 0; lane < lane_count; ++lane) copy_lane(lane, tile, scratch, group);
    }
  }

 private:
  struct Tile {
    uint64_t first;
    uint32_t rows;
    uint32_t kept;
  };

  // Rows of a tile that a warp ranks and places, one behind the other.
  template <BlockGroup G>
  CD_HOST_DEVICE static TileRange rows_of_warp(uint32_t rows, const G& group) {
    const uint32_t warps = group.size() / group.lanes();
    const uint32_t each = (kPartitionTileRows + warps - 1) / warps;
    const uint32_t begin = group.warp() * each < rows ? group.warp() * each : rows;
    return {begin, rows - begin < each ? rows : begin + each};
  }

  // How many of its warp's rows for its partition come before a row: lanes of one partition find each other.
  // The keys that a thread looks at are read at once.
  template <BlockGroup G>
  CD_HOST_DEVICE void rank_rows(uint64_t first,
                                uint32_t rows,
                                Scratch& scratch,
                                const G& group) const {
    const uint32_t warps = group.size() / group.lanes();
    for (uint32_t at = group.rank(); at < warps * rule.ways; at += group.size())
      scratch.counts[at / rule.ways][at % rule.ways] = 0;
    group.sync();
    uint16_t* counts = scratch.counts[group.warp()];
    const TileRange mine = rows_of_warp(rows, group);
    for (uint64_t base = mine.begin; base < mine.end; base += kUnderWay * group.lanes()) {
      uint32_t ways[kUnderWay];
      for (uint32_t k = 0; k < kUnderWay; ++k) {
        const uint64_t row = base + k * group.lanes() + group.lane();
        const bool is_kept = row < mine.end && filter.keeps(first + row);
        ways[k] = is_kept ? rule.number(keys.at(first + row)) : kNoWay;
      }
      for (uint32_t k = 0; k < kUnderWay; ++k) {
        const uint64_t row = base + k * group.lanes() + group.lane();
        const uint32_t way = ways[k];
        const bool is_kept = way != kNoWay;
        const uint32_t same = group.match(way);
        const uint32_t below = group.ones(same & ((1U << group.lane()) - 1));
        const uint32_t before = is_kept ? counts[way] : 0;
        group.warp_sync();  // all have read before the lowest lane adds
        if (is_kept && below == 0) counts[way] = static_cast<uint16_t>(before + group.ones(same));
        group.warp_sync();
        if (row >= mine.end) continue;
        scratch.ways[row] = static_cast<uint8_t>(way);
        scratch.places[row] = is_kept ? static_cast<uint16_t>(before + below) : kNoPlace;
      }
    }
    group.sync();
  }

  // Where rows of each partition and warp begin in the tile, and how far that is from where they go. Answers how many
  // rows go anywhere.
  template <BlockGroup G>
  CD_HOST_DEVICE uint32_t place_ways(Scratch& scratch, const G& group) const {
    const uint32_t warps = group.size() / group.lanes();
    uint64_t start = 0;
    for (uint32_t base = 0; base < rule.ways; base += group.size()) {
      const uint32_t way = base + group.rank();
      uint32_t rows = 0;
      for (uint32_t warp = 0; warp < warps && way < rule.ways; ++warp) {
        const uint32_t count = scratch.counts[warp][way];
        scratch.counts[warp][way] = static_cast<uint16_t>(rows);
        rows += count;
      }
      const BlockPrefix prefix = block_prefix(group, rows, scratch.totals);
      if (way < rule.ways) {
        scratch.starts[way] = static_cast<uint32_t>(start + prefix.before);
        scratch.shifts[way] = scratch.cursors[way] - scratch.starts[way];
        scratch.cursors[way] += rows;
      }
      start += prefix.total;
    }
    group.sync();
    return static_cast<uint32_t>(start);
  }

  template <BlockGroup G>
  CD_HOST_DEVICE void place_rows(uint32_t rows, Scratch& scratch, const G& group) const {
    const uint16_t* before = scratch.counts[group.warp()];
    const TileRange mine = rows_of_warp(rows, group);
    for (uint64_t row = mine.begin + group.lane(); row < mine.end; row += group.lanes()) {
      if (scratch.places[row] == kNoPlace) continue;
      const uint32_t way = scratch.ways[row];
      const uint32_t at = scratch.starts[way] + before[way] + scratch.places[row];
      scratch.places[row] = static_cast<uint16_t>(at);
      scratch.way_at[at] = static_cast<uint8_t>(way);
    }
    group.sync();
  }

  template <BlockGroup G>
  CD_HOST_DEVICE void copy_lane(uint32_t lane,
                                const Tile& tile,
                                Scratch& scratch,
                                const G& group) const {
    switch (lanes[lane].width_bytes) {
      case 1:
        return copy_words<uint8_t>(lane, tile, scratch, group);
      case 2:
        return copy_words<uint16_t>(lane, tile, scratch, group);
      case 4:
        return copy_words<uint32_t>(lane, tile, scratch, group);
      default:
        return copy_words<uint64_t>(lane, tile, scratch, group);
    }
  }

  template <class T, BlockGroup G>
  CD_HOST_DEVICE void copy_words(uint32_t lane,
                                 const Tile& tile,
                                 Scratch& scratch,
                                 const G& group) const {
    const T* from = reinterpret_cast<const T*>(lanes[lane].from) + tile.first;
    T* to = reinterpret_cast<T*>(lanes[lane].to);
    T* staged = reinterpret_cast<T*>(scratch.staged);
    for (uint32_t base = group.rank(); base < tile.rows; base += kUnderWay * group.size()) {
      T words[kUnderWay];
      for (uint32_t k = 0; k < kUnderWay; ++k) {
        const uint32_t row = base + k * group.size();
        words[k] = row < tile.rows ? from[row] : T{};
      }
      for (uint32_t k = 0; k < kUnderWay; ++k) {
        const uint32_t row = base + k * group.size();
        if (row < tile.rows && scratch.places[row] != kNoPlace)
          staged[scratch.places[row]] = words[k];
      }
    }
    group.sync();
    for_rows(group, 0, tile.kept, [&](uint64_t at) {
      to[scratch.shifts[scratch.way_at[at]] + at] = staged[at];
    });
    group.sync();
  }
};

}  // namespace crossdock::operators
