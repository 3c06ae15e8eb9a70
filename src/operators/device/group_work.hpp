// Group-by without locks: a slot per group, whose words are added to by atomic operations.
//
// A block first adds to a table of its own in shared memory, and at its end that table to the one of the device.
// Where groups are few, nearly every row stays inside the block. A block that finds no room for more than half of the
// rows of a tile stops trying: its groups are many, and go to the device's table at once.
//
// Sums have 128 bits, so that none overflows: a word that is added to, and one for carries and signs that nearly no row
// touches. All operations commute, so results are the same to the last bit, whatever the order.
//
// Bound: key and values are read once, and each row that leaves its block reads and writes one random sector per 32
// bytes of a slot. Key, count and one sum are one sector.
#pragma once

#include <cstdint>

#include "operators/device/key_table.hpp"
#include "operators/device/scan_work.hpp"

namespace crossdock {

inline constexpr uint32_t kDeviceAggregatesMax = 6;
inline constexpr uint32_t kGroupCountWord = 1;   // word 0 is the key
inline constexpr uint32_t kGroupFixedWords = 2;  // key and count
inline constexpr uint32_t kGroupWordsMax = kGroupFixedWords + 2 * kDeviceAggregatesMax;
inline constexpr uint64_t kGroupTileRows = 4096;
inline constexpr uint64_t kGroupTriesMax = 512;  // before the device's table counts as full
static_assert(kGroupWordsMax <= kPatternMax);

enum class DeviceAggregate : uint8_t { kSum, kMin, kMax };

struct AggregateColumn {
  DeviceAggregate aggregate = DeviceAggregate::kSum;
  const int64_t* values = nullptr;
  uint32_t word = kGroupFixedWords;  // of a slot; a sum has two, the lower one first
};

struct GroupColumns {
  const uint64_t* keys = nullptr;
  uint64_t rows = 0;
  uint32_t count = 0;
  uint32_t words = kGroupFixedWords;  // of a slot
  AggregateColumn aggregates[kDeviceAggregatesMax] = {};
};

// What a slot holds before any row.
CD_HOST_DEVICE inline uint64_t empty_group_word(const GroupColumns& columns, uint32_t word) {
  if (word == 0) return kFreeKey;
  for (uint32_t at = 0; at < columns.count; ++at) {
    const AggregateColumn& column = columns.aggregates[at];
    if (column.word != word || column.aggregate == DeviceAggregate::kSum) continue;
    return column.aggregate == DeviceAggregate::kMin ? uint64_t{INT64_MAX}
                                                     : static_cast<uint64_t>(INT64_MIN);
  }
  return 0;
}

template <class Memory, Scope kScope>
struct GroupSlots {
  using Word = typename Memory::template Atomic<uint64_t, kScope>;

  const KeyTable& table;

  CD_HOST_DEVICE void add(uint64_t slot, uint32_t word, uint64_t value) const {
    Word(table.word(slot, word)).fetch_add(value, Relaxed{});
  }
  // high and low are the halves of one number of 128 bits.
  CD_HOST_DEVICE void add_wide(uint64_t slot, uint32_t word, uint64_t low, uint64_t high) const {
    const uint64_t before = Word(table.word(slot, word)).fetch_add(low, Relaxed{});
    high += before + low < before ? 1 : 0;
    if (high != 0) add(slot, word + 1, high);
  }
  CD_HOST_DEVICE void improve(uint64_t slot, uint32_t word, int64_t value, bool is_min) const {
    improve_word<Memory, kScope>(table.word(slot, word), value, is_min);
  }
};

// Adds all rows to the table. *is_full becomes 1, and what the table holds means nothing, where it has no room.
struct GroupAdd {
  static constexpr uint32_t kThreads = 512;
  static constexpr uint32_t kOwnWords = 8192;  // of the block's table: 64 KiB
  static constexpr uint64_t kOwnTries = 8;
  struct Scratch {
    WarpTotals totals;
    uint64_t words[kOwnWords];
  };

  GroupColumns columns{};
  KeyTable table{};
  uint64_t* is_full = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    using Flag = typename Memory::template Atomic<uint64_t, Scope::kDevice>;
    const uint64_t own_slots = kOwnWords / columns.words - 1;  // and that of kFreeKey
    const KeyTable own{.words = scratch.words,
                       .slots = own_slots,
                       .slot_step = 1,
                       .word_step = own_slots + 1,
                       .mix = table.mix};
    for (uint32_t word = 0; word < columns.words; ++word) {
      const uint64_t empty = empty_group_word(columns, word);
      for_rows(group, 0, own_slots + 1, [&](uint64_t slot) { own.word(slot, word) = empty; });
    }
    group.sync();
    bool uses_own = true;
    const uint64_t tiles = tiles_of(columns.rows, kGroupTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      if (from_leader(group, Flag(*is_full).load(Relaxed{})) != 0) return;
      const TileRange range = tile_range(tile, kGroupTileRows, columns.rows);
      uint64_t passed = 0;
      for_rows(group, range.begin, range.end, [&](uint64_t row) {
        if (uses_own && add_row<Memory, Scope::kBlock>(own, row, kOwnTries)) return;
        ++passed;
        if (!add_row<Memory, Scope::kDevice>(table, row, tries()))
          Flag(*is_full).store(1, Relaxed{});
      });
      if (uses_own)
        uses_own = 2 * block_total(group, passed, scratch.totals) <= range.end - range.begin;
    }
    group.sync();
    for_rows(group, 0, own_slots + 1, [&](uint64_t slot) {
      if (own.word(slot, kGroupCountWord) == 0) return;
      if (!add_group<Memory>(own, slot)) Flag(*is_full).store(1, Relaxed{});
    });
  }

 private:
  CD_HOST_DEVICE uint64_t tries() const {
    return table.slots < kGroupTriesMax ? table.slots : kGroupTriesMax;
  }

  template <class Memory, Scope kScope>
  CD_HOST_DEVICE bool add_row(const KeyTable& to, uint64_t row, uint64_t tries) const {
    const uint64_t slot = to.claim<Memory, kScope>(columns.keys[row], tries);
    if (slot == kNoSlot) return false;
    const GroupSlots<Memory, kScope> slots{to};
    slots.add(slot, kGroupCountWord, 1);
    for (uint32_t at = 0; at < columns.count; ++at) {
      const AggregateColumn& column = columns.aggregates[at];
      const int64_t value = column.values[row];
      if (column.aggregate == DeviceAggregate::kSum) {
        slots.add_wide(slot, column.word, static_cast<uint64_t>(value), value < 0 ? UINT64_MAX : 0);
      } else {
        slots.improve(slot, column.word, value, column.aggregate == DeviceAggregate::kMin);
      }
    }
    return true;
  }

  // A group of the block's table, once no thread adds to it.
  template <class Memory>
  CD_HOST_DEVICE bool add_group(const KeyTable& own, uint64_t from) const {
    // The slot of kFreeKey never holds a key: its word 0 stays what it was.
    const uint64_t slot = table.claim<Memory, Scope::kDevice>(own.word(from, 0), tries());
    if (slot == kNoSlot) return false;
    const GroupSlots<Memory, Scope::kDevice> slots{table};
    slots.add(slot, kGroupCountWord, own.word(from, kGroupCountWord));
    for (uint32_t at = 0; at < columns.count; ++at) {
      const AggregateColumn& column = columns.aggregates[at];
      const uint64_t word = own.word(from, column.word);
      if (column.aggregate == DeviceAggregate::kSum) {
        slots.add_wide(slot, column.word, word, own.word(from, column.word + 1));
      } else {
        slots.improve(slot,
                      column.word,
                      static_cast<int64_t>(word),
                      column.aggregate == DeviceAggregate::kMin);
      }
    }
    return true;
  }
};

// The groups of a table, one behind the other: counted by tile of slots, then, after a scan of the tiles, written.
struct GroupCollect {
  static constexpr uint32_t kThreads = 512;
  using Scratch = ScanScratch;

  KeyTable table{};
  uint32_t words = kGroupFixedWords;
  uint64_t* tile_groups = nullptr;  // written where `out` is left out, read where it is not
  uint64_t* out = nullptr;          // word w of group g at w * groups + g
  uint64_t groups = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    const uint64_t slots = table.slots + 1;
    const uint64_t tiles = tiles_of(slots, kGroupTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      const TileRange range = tile_range(tile, kGroupTileRows, slots);
      uint64_t to = out == nullptr ? 0 : tile_groups[tile];
      for (uint64_t at = range.begin; at < range.end; at += group.size()) {
        const uint64_t slot = at + group.rank();
        const bool has_rows = slot < range.end && table.word(slot, kGroupCountWord) != 0;
        const BlockPrefix prefix = block_prefix(group, has_rows ? 1 : 0, scratch.totals);
        for (uint32_t word = 0; out != nullptr && has_rows && word < words; ++word)
          out[word * groups + to + prefix.before] = table.word(slot, word);
        to += prefix.total;
      }
      if (out == nullptr && group.rank() == 0) tile_groups[tile] = to;
    }
  }
};

}  // namespace crossdock
