// Hash join without partitions: a table of key and row number in the device's memory, 16 bytes a slot, so that a row
// costs one random access to build and about one to probe.
//
// Build rows are put in as if keys were distinct. A thread that finds a row number already there has found a duplicate,
// and is counted; only if there were any, the same slots then count rows by key, the counts become places in one list
// of build rows, and a slot says where its range begins. So nothing is chained: no probe is longer than the way to its
// slot, and however many rows have a key, their matches are a range that threads share (match_work.hpp).
//
// Bound: build reads 8 bytes in order and reads and writes one random sector; a probe reads 8 in order and one random
// sector. Counting duplicates adds two more random accesses per build row, and reads and writes the table twice.
#pragma once

#include <cstdint>

#include "operators/device/key_table.hpp"
#include "operators/device/match_work.hpp"

namespace crossdock::operators {

inline constexpr uint64_t kJoinTileRows = 2048;

// Keys of a side, and what its rows are called: their places, or `ids`. Rows with a NULL as key match nothing.
struct JoinRows {
  const uint64_t* keys = nullptr;
  const uint64_t* ids = nullptr;
  uint64_t count = 0;
  const uint8_t* valid = nullptr;  // a byte per row, 0: its key is NULL; left out: none is

  CD_HOST_DEVICE uint64_t id(uint64_t row) const { return ids == nullptr ? row : ids[row]; }
  CD_HOST_DEVICE bool has_key(uint64_t row) const { return valid == nullptr || valid[row] != 0; }
};

// Word 1 of each slot becomes the number of a row with its key plus 1. Adds to *duplicates.
struct JoinBuild {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  JoinRows rows{};
  KeyTable table{};
  uint64_t* duplicates = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    using Word = typename Memory::template Atomic<uint64_t, rings::Scope::kDevice>;
    const uint64_t tiles = tiles_of(rows.count, kJoinTileRows);
    uint64_t again = 0;
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      const TileRange range = tile_range(tile, kJoinTileRows, rows.count);
      for_rows(group, range.begin, range.end, [&](uint64_t row) {
        if (!rows.has_key(row)) return;
        const uint64_t key = rows.keys[row];
        if (key == kFreeKey) {  // has a slot of its own
          const uint64_t before =
              Word(table.word(table.slots, 1)).exchange(rows.id(row) + 1, rings::Relaxed{});
          again += before != 0 ? 1 : 0;
          return;
        }
        const KeyTable::Put put = table.put_pair<Memory>(key, rows.id(row) + 1);
        Memory::require(put != KeyTable::Put::kFull);
        again += put == KeyTable::Put::kThere ? 1 : 0;
      });
    }
    again = block_total(group, again, scratch.totals);
    if (group.rank() == 0 && again != 0) Word(*duplicates).fetch_add(again, rings::Relaxed{});
  }
};

// Word 1 of each slot, 0 before, becomes how many rows have its key; ranks[row] is which of these a row is.
struct JoinCount {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  JoinRows rows{};
  KeyTable table{};
  uint64_t* ranks = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    using Word = typename Memory::template Atomic<uint64_t, rings::Scope::kDevice>;
    const uint64_t tiles = tiles_of(rows.count, kJoinTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      const TileRange range = tile_range(tile, kJoinTileRows, rows.count);
      for_rows(group, range.begin, range.end, [&](uint64_t row) {
        if (!rows.has_key(row)) return;
        const uint64_t slot = table.find(rows.keys[row]);
        Memory::require(slot != kNoSlot);
        ranks[row] = Word(table.word(slot, 1)).fetch_add(1, rings::Relaxed{});
      });
    }
  }
};

// Lists the rows of each key from the place in word 1 on, the scan of the counts.
struct JoinList {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  JoinRows rows{};
  KeyTable table{};
  const uint64_t* ranks = nullptr;
  uint64_t* list = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t tiles = tiles_of(rows.count, kJoinTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      const TileRange range = tile_range(tile, kJoinTileRows, rows.count);
      for_rows(group, range.begin, range.end, [&](uint64_t row) {
        if (!rows.has_key(row)) return;
        const uint64_t slot = table.find(rows.keys[row]);
        Memory::require(slot != kNoSlot);
        list[table.word(slot, 1) + ranks[row]] = rows.id(row);
      });
    }
  }
};

// Where rows of the build side without a match are wanted, slots that a probe has met are marked, a bit each, and the
// build side then asks for the marks in place of rows.
enum class JoinMarks : uint8_t { kNone, kWrite, kRead };

struct JoinProbe {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  JoinRows rows{};
  KeyTable table{};
  bool is_listed = false;  // word 1 is a place in the list of build rows, the next slot's the end
  ProbeMatches matches{};
  JoinMarks use = JoinMarks::kNone;
  uint64_t* marks = nullptr;  // a bit per slot

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    const uint64_t tiles = tiles_of(rows.count, kMatchTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      const TileRange range = tile_range(tile, kMatchTileRows, rows.count);
      const auto look = [&](uint64_t row) -> Look {
        if (!rows.has_key(row)) return {kFreeKey, {kFreeKey, 0}};
        const uint64_t key = rows.keys[row];
        // The slot of kFreeKey has its count beside whatever stands in its first word.
        const SlotPair pair = table.pair(key == kFreeKey ? table.slots : table.home(key));
        return {key, key == kFreeKey ? SlotPair{0, pair.value} : pair};
      };
      const auto find = [&](uint64_t, Look& at) -> MatchRange {
        const bool is_free_key = at.key == kFreeKey;
        if (is_free_key && at.pair.key == kFreeKey) return {};  // no key
        const uint64_t slot = is_free_key ? table.slots : table.find_pair(at.key, at.pair);
        if (slot == kNoSlot) return {};
        if (use == JoinMarks::kRead) return {0, marks[slot / 64] >> slot % 64 & 1};
        const MatchRange match = range_of(slot, at.pair.value);
        if (use == JoinMarks::kWrite && match.count != 0) mark<Memory>(slot);
        return match;
      };
      matches.write_tile(tile, range, scratch.totals, group, RowProbe{look, find});
    }
  }

 private:
  // A row's key and the pair at its home; several of a thread's are under way at once.
  struct Look {
    uint64_t key;
    SlotPair pair;
  };

  CD_HOST_DEVICE MatchRange range_of(uint64_t slot, uint64_t word) const {
    if (is_listed) return {word, table.word(slot + 1, 1) - word};
    return word == 0 ? MatchRange{} : MatchRange{word - 1, 1};
  }
  // A bit that is set already costs a load.
  template <class Memory>
  CD_HOST_DEVICE void mark(uint64_t slot) const {
    const typename Memory::template Atomic<uint64_t, rings::Scope::kDevice> at(marks[slot / 64]);
    const uint64_t bit = uint64_t{1} << slot % 64;
    if ((at.load(rings::Relaxed{}) & bit) == 0) at.fetch_or(bit, rings::Relaxed{});
  }
};

}  // namespace crossdock::operators
