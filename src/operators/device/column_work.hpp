// Kernels between columns as users have them and what operators work on: 64-bit words that order as signed numbers
// (DeviceValues::ordered_word), and lists of rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/rings/atomic.hpp"
#include "operators/device/device_values.hpp"
#include "operators/device/word_work.hpp"

namespace crossdock::operators {

CD_HOST_DEVICE inline void put_bytes(std::byte* values,
                                     uint64_t row,
                                     uint32_t width_bytes,
                                     uint64_t bits) {
  switch (width_bytes) {
    case 1:
      reinterpret_cast<uint8_t*>(values)[row] = static_cast<uint8_t>(bits);
      return;
    case 2:
      reinterpret_cast<uint16_t*>(values)[row] = static_cast<uint16_t>(bits);
      return;
    case 4:
      reinterpret_cast<uint32_t*>(values)[row] = static_cast<uint32_t>(bits);
      return;
    default:
      reinterpret_cast<uint64_t*>(values)[row] = bits;
  }
}

// visit(i) for the threads of the grid in turns.
template <BlockGroup G, class Visit>
CD_HOST_DEVICE void for_grid(BlockPlace place, const G& group, uint64_t count, Visit&& visit) {
  const uint64_t step = uint64_t{place.blocks} * group.size();
  for (uint64_t at = uint64_t{place.block} * group.size() + group.rank(); at < count; at += step)
    visit(at);
}

// to[i] = 1 where row i passes and before[i] is not 0, else 0; `before` left out: only the row counts. A row passes if
// it has a value, and its ordered word is from `low` to `high`; or, if NULLs are asked for, where it has none.
struct TestRows {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  DeviceValues from{};
  bool wants_nulls = false;
  bool has_range = false;  // else any value passes, of any type
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
  const uint8_t* before = nullptr;
  uint8_t* to = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    for_grid(place, group, count, [&](uint64_t row) {
      const bool is_left = before == nullptr || before[row] != 0;
      to[row] = is_left && passes(row) ? 1 : 0;
    });
  }

 private:
  CD_HOST_DEVICE bool passes(uint64_t row) const {
    if (from.is_valid(row) == wants_nulls) return false;
    if (!has_range) return true;
    const auto word = static_cast<int64_t>(from.ordered_word(row, false));
    return low <= word && word <= high;
  }
};

// The halves of numbers of 128 bits.
struct ReadHalves {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  DeviceValues from{};
  uint64_t* low = nullptr;
  uint64_t* high = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    for_grid(place, group, count, [&](uint64_t row) {
      low[row] = from.word(row);
      high[row] = from.high_word(row);
    });
  }
};

// to[i] = the row of a dictionary that index i names, kNoRow for a NULL. *misfits becomes 1 if it has no such row.
struct ReadIndices {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  DeviceValues from{};
  uint64_t dictionary_rows = 0;
  uint64_t* to = nullptr;
  uint64_t* misfits = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    using Flag = typename Memory::template Atomic<uint64_t, rings::Scope::kDevice>;
    for_grid(place, group, count, [&](uint64_t row) {
      to[row] = kNoRow;
      if (!from.is_valid(row)) return;
      const uint64_t index = from.word(row);
      if (index < dictionary_rows) {
        to[row] = index;
      } else {
        Flag(*misfits).store(1, rings::Relaxed{});
      }
    });
  }
};

// The values of words.
struct WriteWords {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  const uint64_t* words = nullptr;
  Stored stored = Stored::kInt64;
  std::byte* to = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const auto width_bytes = static_cast<uint32_t>(stored_bytes(stored));
    for_grid(place, group, count, [&](uint64_t at) {
      const uint64_t bits = bits_of_ordered_word(stored, words[at]);
      if (stored == Stored::kFloat32) {
        const auto value = __builtin_bit_cast(double, bits);
        reinterpret_cast<float*>(to)[at] = static_cast<float>(value);
      } else {
        put_bytes(to, at, width_bytes, bits);
      }
    });
  }
};

// A bit per count, 1 where it is not 0, a byte of eight to a thread. Adds how many are 0 to *zeros.
struct CountedBits {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  const uint64_t* counts = nullptr;
  uint64_t count = 0;
  uint8_t* to = nullptr;
  uint64_t* zeros = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    using Word = typename Memory::template Atomic<uint64_t, rings::Scope::kDevice>;
    uint64_t mine = 0;
    for_grid(place, group, tiles_of(count, 8), [&](uint64_t byte) {
      uint32_t bits = 0;
      for (uint32_t bit = 0; bit < 8 && 8 * byte + bit < count; ++bit) {
        const bool is_there = counts[8 * byte + bit] != 0;
        bits |= (is_there ? 1U : 0U) << bit;
        mine += is_there ? 0 : 1;
      }
      to[byte] = static_cast<uint8_t>(bits);
    });
    const uint64_t total = block_total(group, mine, scratch.totals);
    if (group.rank() == 0 && total != 0) Word(*zeros).fetch_add(total, rings::Relaxed{});
  }
};

// Adds to *zeros how many bits from `first` on are 0, of `count`.
struct CountZeros {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  const uint8_t* bits = nullptr;
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t* zeros = nullptr;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch& scratch, const G& group) const {
    using Word = typename Memory::template Atomic<uint64_t, rings::Scope::kDevice>;
    uint64_t mine = 0;
    const uint64_t skipped = first / 8;
    const uint64_t behind = first + count;
    for_grid(place, group, tiles_of(behind, 8) - skipped, [&](uint64_t at) {
      const uint64_t byte = skipped + at;
      uint32_t set = bits[byte];
      uint32_t counted = 0xFF;
      if (at == 0) counted &= 0xFFU << first % 8;
      if (8 * (byte + 1) > behind) counted &= 0xFFU >> (8 * (byte + 1) - behind);
      for (set = ~set & counted; set != 0; set &= set - 1) ++mine;
    });
    const uint64_t total = block_total(group, mine, scratch.totals);
    if (group.rank() == 0 && total != 0) Word(*zeros).fetch_add(total, rings::Relaxed{});
  }
};

// Sums of 128 bits as whole numbers of 64; *misfits becomes 1 if one does not fit. Sums of words of 64-bit unsigned
// numbers come with how many there were (unshift_sum).
struct NarrowSums {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  const uint64_t* low = nullptr;
  const uint64_t* high = nullptr;
  const uint64_t* shifted_counts = nullptr;
  bool is_unsigned = false;
  uint64_t* to = nullptr;
  uint64_t* misfits = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    using Flag = typename Memory::template Atomic<uint64_t, rings::Scope::kDevice>;
    for_grid(place, group, count, [&](uint64_t at) {
      uint64_t sum[2] = {low[at], high[at]};
      if (shifted_counts != nullptr) unshift_sum(sum, shifted_counts[at]);
      const uint64_t sign_words = !is_unsigned && (sum[0] & kSignBit) != 0 ? ~uint64_t{0} : 0;
      if (sum[1] != sign_words) Flag(*misfits).store(1, rings::Relaxed{});
      to[at] = sum[0];
    });
  }
};

// Sums of 192 bits as decimals of 128; *misfits becomes 1 if one has more than 38 digits.
struct DecimalSums {
  static constexpr uint32_t kThreads = 512;
  using Scratch = BlockScratch;

  const uint64_t* words = nullptr;  // word w of sum i at w * count + i
  uint64_t* to = nullptr;           // two words each
  uint64_t* misfits = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    using Flag = typename Memory::template Atomic<uint64_t, rings::Scope::kDevice>;
    for_grid(place, group, count, [&](uint64_t at) {
      const uint64_t low = words[at];
      const uint64_t high = words[count + at];
      const uint64_t sign = high >> 63 == 0 ? 0 : UINT64_MAX;
      if (words[2 * count + at] != sign || !has_38_digits(low, high)) {
        Flag(*misfits).store(1, rings::Relaxed{});
      }
      to[2 * at] = low;
      to[2 * at + 1] = high;
    });
  }

 private:
  CD_HOST_DEVICE static bool has_38_digits(uint64_t low, uint64_t high) {
    constexpr uint64_t kHigh = 0x4B3B4CA85A86C47AU;  // of 10^38
    constexpr uint64_t kLow = 0x098A224000000000U;
    if (high >> 63 != 0) {
      high = ~high + (low == 0 ? 1 : 0);
      low = ~low + 1;
    }
    return high < kHigh || (high == kHigh && low < kLow);
  }
};

}  // namespace crossdock::operators
