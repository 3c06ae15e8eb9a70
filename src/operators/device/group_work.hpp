// Group-by without locks: a slot per group, whose words are added to by atomic operations.
//
// A block first adds to a table of its own in shared memory, and at its end that table to the one of the device.
// Where groups are few, nearly every row stays inside the block. A block that finds no room for more than half of the
// rows of a tile stops trying: its groups are many, and go to the device's table at once.
//
// Sums have 128 bits, so that none overflows: a word that is added to, and one for carries and signs that nearly no row
// touches. Sums of numbers of 128 bits have 192, those of floats as many words as their values need (real_sum.hpp). The
// least or greatest of values that are no words, as strings, is a row that has it. All operations commute, so values
// are the same to the last bit, whatever the order. Rows with a NULL as key have a slot of their own, the last one.
//
// Bound: key and values are read once, and each row that leaves its block reads and writes one random sector per 32
// bytes of a slot. Key, count and one sum are one sector.
#pragma once

#include <cstdint>

#include "operators/device/device_values.hpp"
#include "operators/device/key_table.hpp"
#include "operators/device/real_sum.hpp"
#include "operators/device/word_range.hpp"
#include "operators/device/word_work.hpp"

namespace crossdock::operators {

inline constexpr uint32_t kDeviceAggregatesMax = 6;  // of a pass; more take several
inline constexpr uint32_t kGroupCountWord = 1;       // word 0 is the key
inline constexpr uint32_t kGroupFixedWords = 2;      // key and count
inline constexpr uint32_t kGroupWordsMax = kPatternMax;
inline constexpr uint64_t kGroupTileRows = 4096;
inline constexpr uint64_t kGroupTriesMax = 512;  // before the device's table counts as full

enum class DeviceAggregate : uint8_t {
  kSum,  // of whole numbers
  kMin,  // of words that order as signed numbers
  kMax,
  kRealSum,  // of the bits of doubles
  kCount,    // of values that are not NULL
  kWideSum,  // of whole numbers of 128 bits
  kMinRow,   // a row that has the least value of any type but floats, by row numbers
  kMaxRow,
};

CD_HOST_DEVICE constexpr bool is_extreme(DeviceAggregate aggregate) {
  return aggregate == DeviceAggregate::kMin || aggregate == DeviceAggregate::kMax;
}
CD_HOST_DEVICE constexpr bool is_extreme_row(DeviceAggregate aggregate) {
  return aggregate == DeviceAggregate::kMinRow || aggregate == DeviceAggregate::kMaxRow;
}

struct AggregateColumn {
  DeviceAggregate aggregate = DeviceAggregate::kSum;
  const int64_t* values = nullptr;
  uint32_t word = kGroupFixedWords;       // of a slot; a sum has `words`, the lowest one first
  const uint8_t* valid = nullptr;         // a byte per row, 0: NULL; left out: none is
  uint32_t words = 2;                     // kRealSum has one more behind them, for specials
  uint32_t unit = 0;                      // of kRealSum
  uint32_t count_word = kGroupCountWord;  // of values that are not NULL
  const uint64_t* high = nullptr;         // of kWideSum: the upper halves
  DeviceValues of{};                      // of rows' values
};

struct GroupColumns {
  const uint64_t* keys = nullptr;
  const uint8_t* key_valid = nullptr;  // as `valid`
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
    if (column.word == word && is_extreme_row(column.aggregate)) return kNoRow;
    if (column.word != word || !is_extreme(column.aggregate)) continue;
    return column.aggregate == DeviceAggregate::kMin ? uint64_t{INT64_MAX}
                                                     : static_cast<uint64_t>(INT64_MIN);
  }
  return 0;
}

template <class Memory, rings::Scope kScope>
struct GroupSlots {
  using Word = typename Memory::template Atomic<uint64_t, kScope>;
  static constexpr bool kAddsInBlock = kScope == rings::Scope::kBlock && requires(uint64_t * word) {
    Memory::add_in_block(word, uint64_t{});
  };

  const KeyTable& table;

  CD_HOST_DEVICE static bool add_with_carry(uint64_t& word, uint64_t more) {
    if constexpr (kAddsInBlock) {
      return Memory::add_in_block(&word, more);
    } else {
      const uint64_t before = Word(word).fetch_add(more, rings::Relaxed{});
      return before + more < before;
    }
  }
  CD_HOST_DEVICE void add(uint64_t slot, uint32_t word, uint64_t value) const {
    add_with_carry(table.word(slot, word), value);
  }
  // The number whose words are digit(0) … digit(words - 1), in two's complement. A word is touched only if it changes:
  // above a small negative number the carry and the sign cancel.
  template <class Digit>
  CD_HOST_DEVICE void add_long(uint64_t slot,
                               uint32_t word,
                               uint32_t words,
                               const Digit& digit) const {
    bool carry = false;
    for (uint32_t at = 0; at < words; ++at) {
      const uint64_t more = digit(at) + (carry ? 1 : 0);
      if (more == 0) continue;  // nothing, or all ones and the carry: it goes on
      carry = add_with_carry(table.word(slot, word + at), more);
    }
  }
  CD_HOST_DEVICE void join_bits(uint64_t slot, uint32_t word, uint64_t bits) const {
    if (bits != 0) Word(table.word(slot, word)).fetch_or(bits, rings::Relaxed{});
  }
  CD_HOST_DEVICE void improve(uint64_t slot, uint32_t word, int64_t value, bool is_min) const {
    improve_word<Memory, kScope>(table.word(slot, word), value, is_min);
  }
  CD_HOST_DEVICE void improve_row(uint64_t slot,
                                  const AggregateColumn& column,
                                  uint64_t row) const {
    const bool is_min = column.aggregate == DeviceAggregate::kMinRow;
    const Word at(table.word(slot, column.word));
    uint64_t best = at.load(rings::Relaxed{});
    while (best == kNoRow ||
           (is_min ? column.of.is_less(row, best) : column.of.is_less(best, row))) {
      if (at.compare_exchange(best, row, rings::Relaxed{})) return;
    }
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
    using Flag = typename Memory::template Atomic<uint64_t, rings::Scope::kDevice>;
    const uint64_t block_slots = kOwnWords / columns.words - 2;  // and those of kFreeKey and NULL
    const KeyTable block_table{.words = scratch.words,
                               .slots = block_slots,
                               .slot_step = 1,
                               .word_step = block_slots + 2,
                               .mix = table.mix};
    for (uint32_t word = 0; word < columns.words; ++word) {
      const uint64_t empty = empty_group_word(columns, word);
      for_rows(
          group, 0, block_slots + 2, [&](uint64_t slot) { block_table.word(slot, word) = empty; });
    }
    group.sync();
    bool uses_block = true;
    const uint64_t tiles = tiles_of(columns.rows, kGroupTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      if (rings::from_leader(group, Flag(*is_full).load(rings::Relaxed{})) != 0) return;
      const TileRange range = tile_range(tile, kGroupTileRows, columns.rows);
      uint64_t passed = 0;
      for_rows(group, range.begin, range.end, [&](uint64_t row) {
        if (uses_block && add_row<Memory, rings::Scope::kBlock>(block_table, row, kOwnTries))
          return;
        ++passed;
        if (!add_row<Memory, rings::Scope::kDevice>(table, row, tries()))
          Flag(*is_full).store(1, rings::Relaxed{});
      });
      if (uses_block)
        uses_block = 2 * block_total(group, passed, scratch.totals) <= range.end - range.begin;
    }
    group.sync();
    for_rows(group, 0, block_slots + 2, [&](uint64_t slot) {
      if (block_table.word(slot, kGroupCountWord) == 0) return;
      if (!add_group<Memory>(block_table, slot)) Flag(*is_full).store(1, rings::Relaxed{});
    });
  }

 private:
  CD_HOST_DEVICE uint64_t tries() const {
    return table.slots < kGroupTriesMax ? table.slots : kGroupTriesMax;
  }

  template <class Memory, rings::Scope kScope>
  CD_HOST_DEVICE bool add_row(const KeyTable& to, uint64_t row, uint64_t tries) const {
    const bool has_key = columns.key_valid == nullptr || columns.key_valid[row] != 0;
    const uint64_t slot =
        has_key ? to.claim<Memory, kScope>(columns.keys[row], tries) : to.slots + 1;
    if (slot == kNoSlot) return false;
    const GroupSlots<Memory, kScope> slots{to};
    slots.add(slot, kGroupCountWord, 1);
    for (uint32_t at = 0; at < columns.count; ++at) {
      const AggregateColumn& column = columns.aggregates[at];
      if (column.valid != nullptr && column.valid[row] == 0) continue;
      if (column.count_word != kGroupCountWord) slots.add(slot, column.count_word, 1);
      if (column.aggregate != DeviceAggregate::kCount) add_value(slots, slot, column, row);
    }
    return true;
  }

  template <class Slots>
  CD_HOST_DEVICE void add_value(const Slots& slots,
                                uint64_t slot,
                                const AggregateColumn& column,
                                uint64_t row) const {
    const int64_t value = column.values[row];
    const auto low = static_cast<uint64_t>(value);
    if (is_extreme(column.aggregate)) {
      slots.improve(slot, column.word, value, column.aggregate == DeviceAggregate::kMin);
    } else if (is_extreme_row(column.aggregate)) {
      slots.improve_row(slot, column, low);
    } else if (column.aggregate == DeviceAggregate::kRealSum) {
      const RealParts parts = RealParts::of(low);
      slots.join_bits(slot, column.word + column.words, parts.special);
      if (parts.mantissa != 0)
        slots.add_long(slot, column.word, column.words, RealDigits::of(parts, column.unit));
    } else {
      const uint64_t sign = value < 0 ? UINT64_MAX : 0;
      const uint64_t high = column.high == nullptr ? sign : column.high[row];
      const uint64_t top = high >> 63 == 0 ? 0 : UINT64_MAX;
      slots.add_long(slot, column.word, column.words, [&](uint32_t at) {
        return at == 0 ? low : at == 1 ? high : top;
      });
    }
  }

  // A group of the block's table, once no thread adds to it.
  template <class Memory>
  CD_HOST_DEVICE bool add_group(const KeyTable& block_table, uint64_t from) const {
    // The slots of kFreeKey and of NULL never hold a key: their words 0 stay what they were.
    const uint64_t slot =
        from == block_table.slots + 1
            ? table.slots + 1
            : table.claim<Memory, rings::Scope::kDevice>(block_table.word(from, 0), tries());
    if (slot == kNoSlot) return false;
    const GroupSlots<Memory, rings::Scope::kDevice> slots{table};
    slots.add(slot, kGroupCountWord, block_table.word(from, kGroupCountWord));
    for (uint32_t at = 0; at < columns.count; ++at) {
      const AggregateColumn& column = columns.aggregates[at];
      if (column.count_word != kGroupCountWord)
        slots.add(slot, column.count_word, block_table.word(from, column.count_word));
      if (column.aggregate == DeviceAggregate::kCount) continue;
      const uint64_t word = block_table.word(from, column.word);
      if (is_extreme_row(column.aggregate)) {
        if (word != kNoRow) slots.improve_row(slot, column, word);
        continue;
      }
      if (is_extreme(column.aggregate)) {
        const bool is_min = column.aggregate == DeviceAggregate::kMin;
        slots.improve(slot, column.word, static_cast<int64_t>(word), is_min);
        continue;
      }
      slots.add_long(slot, column.word, column.words, [&](uint32_t part) {
        return block_table.word(from, column.word + part);
      });
      if (column.aggregate == DeviceAggregate::kRealSum)
        slots.join_bits(
            slot, column.word + column.words, block_table.word(from, column.word + column.words));
    }
    return true;
  }
};

// All words but the keys become what they are before any row: keys stay where they are, for another pass.
struct ClearGroups {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  GroupColumns columns{};
  KeyTable table{};

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t step = uint64_t{place.blocks} * group.size();
    for (uint32_t word = 1; word < columns.words; ++word) {
      const uint64_t empty = empty_group_word(columns, word);
      for (uint64_t slot = uint64_t{place.block} * group.size() + group.rank();
           slot < table.slots + 2;
           slot += step)
        table.word(slot, word) = empty;
    }
  }
};

// The words of the slots that have a group, as columns.
struct GroupCollect {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  KeyTable table{};
  uint32_t first_word = 0;
  uint32_t words = kGroupFixedWords;  // the end of those that are collected
  const uint64_t* slots = nullptr;    // of the groups
  uint64_t groups = 0;
  uint64_t* out = nullptr;  // word first_word + w of group g at w * groups + g

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t step = uint64_t{place.blocks} * group.size();
    for (uint64_t at = uint64_t{place.block} * group.size() + group.rank(); at < groups;
         at += step) {
      for (uint32_t word = first_word; word < words; ++word)
        out[(word - first_word) * groups + at] = table.word(slots[at], word);
    }
  }
};

// Where the bits of a float that is not 0 begin and end, as positions (real_sum.hpp).
struct RealRange {
  const int64_t* values = nullptr;
  const uint8_t* valid = nullptr;

  CD_HOST_DEVICE WordRange at(uint64_t row) const {
    if (valid != nullptr && valid[row] == 0) return kNoRange;
    const RealParts parts = RealParts::of(static_cast<uint64_t>(values[row]));
    return parts.mantissa == 0 ? kNoRange : WordRange{parts.lowest(), parts.end()};
  }
};

// From the words of a slot, as columns, to what an aggregate answers: sums rounded to doubles, whole numbers too, and
// divided by the number of values for a mean; extremes as the bits of their values. NULL where no value came.
struct FinishAggregate {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  const uint64_t* columns = nullptr;  // word w of group g at w * groups + g
  uint64_t groups = 0;
  AggregateColumn aggregate{};
  bool is_mean = false;
  Stored stored = Stored::kInt64;  // of the values of an extreme or a sum of whole numbers
  double unit = 1;                 // how many of what is added up are one
  uint64_t* out = nullptr;
  uint8_t* valid = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t step = uint64_t{place.blocks} * group.size();
    for (uint64_t at = uint64_t{place.block} * group.size() + group.rank(); at < groups;
         at += step) {
      const uint64_t count = word(aggregate.count_word, at);
      const bool is_count = aggregate.aggregate == DeviceAggregate::kCount;
      valid[at] = is_count || count != 0 ? 1 : 0;
      if (is_count || count == 0) {
        out[at] = count;
      } else if (is_extreme(aggregate.aggregate)) {
        out[at] = bits_of_ordered_word(stored, word(aggregate.word, at));
      } else {
        out[at] = real_of(at, count);
      }
    }
  }

 private:
  CD_HOST_DEVICE uint64_t word(uint32_t which, uint64_t at) const {
    return columns[which * groups + at];
  }
  CD_HOST_DEVICE uint64_t real_of(uint64_t at, uint64_t count) const {
    uint64_t digits[kRealSumWordsMax] = {};
    for (uint32_t part = 0; part < aggregate.words; ++part)
      digits[part] = word(aggregate.word + part, at);
    const bool is_real = aggregate.aggregate == DeviceAggregate::kRealSum;
    if (!is_real && stored == Stored::kUInt64) unshift_sum(digits, count);
    const uint64_t special =
        is_real ? real_of_specials(word(aggregate.word + aggregate.words, at)) : 0;
    const uint64_t bits =
        special != 0
            ? special
            : round_real_sum(digits, aggregate.words, is_real ? aggregate.unit : kUnitOfOne);
    if (!is_mean) return bits;
    return __builtin_bit_cast(uint64_t,
                              __builtin_bit_cast(double, bits) / static_cast<double>(count) / unit);
  }
};

}  // namespace crossdock::operators
