// Kernels that make 64-bit words of keys, equal exactly if keys are, of any number of columns with NULLs and strings,
// so that joins and group-bys have one kind of key (device_key_words.hpp).
//
// Packed: each column is its distance from a base, in as many bits as its values need, and columns stand side by side.
// Numbered: a table of the rows that have a key first, as far as threads are concerned; a slot holds 32 bits of the
// key's hash and a row, so that columns are compared only where these bits are equal, and a key's word is that row.
//
// Bound: packing reads the columns once and writes 8 bytes a row. Numbering reads them twice, the second time at random
// for the row that is compared with, and one random sector of 8-byte slots, of which there are two per row.
#pragma once

#include <cstdint>

#include "data/rings/atomic.hpp"
#include "operators/device/block_group.hpp"
#include "operators/device/device_values.hpp"
#include "operators/device/key_table.hpp"
#include "operators/device/word_range.hpp"
#include "operators/device/word_work.hpp"

namespace crossdock::operators {

inline constexpr uint32_t kKeyColumnsMax = 8;
inline constexpr uint64_t kKeyTileRows = 2048;

enum class KeyOrder : uint8_t { kNone, kNanLast, kNanFirst };

// In a packed word: (value - base), or 1 more where NULLs are equal and have the code 0, from bit `shift` on.
struct KeyField {
  DeviceValues values{};
  uint64_t base = 0;
  uint64_t distance_max = UINT64_MAX;
  uint32_t shift = 0;
  KeyOrder order = KeyOrder::kNone;  // of a field alone: words that order as signed numbers

  CD_HOST_DEVICE uint64_t word(uint64_t row) const {
    if (order != KeyOrder::kNone) return values.ordered_word(row, order == KeyOrder::kNanFirst);
    return values.word(row);
  }
  CD_HOST_DEVICE uint64_t distance(uint64_t row) const { return word(row) - base; }
};

struct KeyFields {
  uint32_t count = 0;
  bool nulls_equal = false;
  KeyField fields[kKeyColumnsMax] = {};

  CD_HOST_DEVICE bool has_null(uint64_t row) const {
    for (uint32_t at = 0; at < count; ++at)
      if (!fields[at].values.is_valid(row)) return true;
    return false;
  }
  // Whether a key can be equal to anything at all.
  CD_HOST_DEVICE bool has_key(uint64_t row) const { return nulls_equal || !has_null(row); }

  CD_HOST_DEVICE uint64_t hash(uint64_t row, const WordMix& mix) const {
    uint64_t hash = 0;
    for (uint32_t at = 0; at < count; ++at) {
      const DeviceValues& values = fields[at].values;
      const uint64_t word = values.is_valid(row) ? values.hash_word(row, mix) : kNullKeyWord;
      hash = mix.mix(add_key_word(hash, word));
    }
    return hash;
  }

  CD_HOST_DEVICE bool equals(uint64_t row, const KeyFields& other, uint64_t other_row) const {
    for (uint32_t at = 0; at < count; ++at) {
      const DeviceValues& mine = fields[at].values;
      const DeviceValues& theirs = other.fields[at].values;
      const bool is_valid = mine.is_valid(row);
      if (is_valid != theirs.is_valid(other_row)) return false;
      if (is_valid && !mine.equals(row, theirs, other_row)) return false;
    }
    return true;
  }
};

// words[row] and valid[row] (0: equal to nothing), of packed keys. Values beyond a field's distance have no code, and
// are those of rows that no key of the side equals by which fields were measured.
struct PackKeys {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  KeyFields keys{};
  uint64_t rows = 0;
  uint64_t* words = nullptr;
  uint8_t* valid = nullptr;  // left out where all rows have a key

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t tiles = tiles_of(rows, kKeyTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      const TileRange range = tile_range(tile, kKeyTileRows, rows);
      for_rows(group, range.begin, range.end, [&](uint64_t row) {
        bool has_key = keys.has_key(row);
        uint64_t word = 0;
        for (uint32_t at = 0; at < keys.count && has_key; ++at) {
          const KeyField& field = keys.fields[at];
          if (!field.values.is_valid(row)) continue;
          const uint64_t distance = field.distance(row);
          has_key = distance <= field.distance_max;
          word |= (distance + (keys.nulls_equal ? 1 : 0)) << field.shift;
        }
        words[row] = word;
        if (valid != nullptr) valid[row] = has_key ? 1 : 0;
      });
    }
  }
};

// The words of a field's values.
struct FieldRange {
  KeyField field{};

  CD_HOST_DEVICE WordRange at(uint64_t row) const {
    if (!field.values.is_valid(row)) return kNoRange;
    const auto word = static_cast<int64_t>(field.word(row));
    return {word, word};
  }
};

// Rows by key. A slot is 0, or the lower half of a hash above the number of a row plus 1.
struct KeyNumbers {
  static constexpr uint64_t kTagMask = uint64_t{UINT32_MAX} << 32;

  uint64_t* slots = nullptr;  // 0 at first
  uint64_t count = 0;         // more than there are keys
  WordMix mix{};

  CD_HOST_DEVICE uint64_t home(uint64_t hash) const { return (hash >> 32) * count >> 32; }
  CD_HOST_DEVICE uint64_t next(uint64_t slot) const { return slot + 1 == count ? 0 : slot + 1; }
  CD_HOST_DEVICE static uint64_t row_of(uint64_t slot) { return (slot & UINT32_MAX) - 1; }

  // The row that has the key of `row` first.
  template <class Memory>
  CD_HOST_DEVICE uint64_t claim(const KeyFields& keys, uint64_t row) const {
    using Word = typename Memory::template Atomic<uint64_t, rings::Scope::kDevice>;
    const uint64_t hash = keys.hash(row, mix);
    const uint64_t mine = hash << 32 | (row + 1);
    for (uint64_t slot = home(hash);; slot = next(slot)) {
      uint64_t stored = Word(slots[slot]).load(rings::Relaxed{});
      if (stored == 0 && Word(slots[slot]).compare_exchange(stored, mine, rings::Relaxed{}))
        return row;
      if (((stored ^ mine) & kTagMask) == 0 && keys.equals(row, keys, row_of(stored)))
        return row_of(stored);
    }
  }

  // kNoRow where no row of `known`, which made the numbers, has the key of `row`. Once no thread claims any more.
  CD_HOST_DEVICE uint64_t find(const KeyFields& keys, uint64_t row, const KeyFields& known) const {
    const uint64_t hash = keys.hash(row, mix);
    for (uint64_t slot = home(hash);; slot = next(slot)) {
      const uint64_t stored = slots[slot];
      if (stored == 0) return kNoRow;
      if (((stored ^ hash << 32) & kTagMask) == 0 && keys.equals(row, known, row_of(stored)))
        return row_of(stored);
    }
  }
};

// words[row] = the row that has this key first, among those of the side that made the numbers; valid[row] = 0 where
// there is none.
struct NumberKeys {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  KeyFields keys{};
  uint64_t rows = 0;
  KeyNumbers numbers{};
  bool is_known = false;  // rows of another side, which are looked for among those of `known`
  KeyFields known{};
  uint64_t* words = nullptr;
  uint8_t* valid = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t tiles = tiles_of(rows, kKeyTileRows);
    for (uint64_t tile = place.block; tile < tiles; tile += place.blocks) {
      const TileRange range = tile_range(tile, kKeyTileRows, rows);
      for_rows(group, range.begin, range.end, [&](uint64_t row) {
        uint64_t number = kNoRow;
        if (keys.has_key(row))
          number = is_known ? numbers.find(keys, row, known) : numbers.claim<Memory>(keys, row);
        words[row] = number;
        if (valid != nullptr) valid[row] = number == kNoRow ? 0 : 1;
      });
    }
  }
};

}  // namespace crossdock::operators
