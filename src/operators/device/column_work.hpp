// Kernels between columns as users have them and what operators work on: 64-bit words that order as signed numbers
// (DeviceValues::ordered_word), and lists of rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/rings/atomic.hpp"
#include "operators/device/device_values.hpp"
#include "operators/device/scan_work.hpp"

namespace crossdock {

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

// to[i] = the word of row i, or of row rows[i]; inverted for a descending order; 0 for a NULL.
struct ReadWords {
  static constexpr uint32_t kThreads = 512;
  using Scratch = ScanScratch;

  DeviceValues from{};
  const uint64_t* rows = nullptr;
  bool is_descending = false;
  bool nan_first = false;
  uint64_t* to = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t flip = is_descending ? ~uint64_t{0} : 0;
    for_grid(place, group, count, [&](uint64_t at) {
      const uint64_t row = rows == nullptr ? at : rows[at];
      to[at] = from.is_valid(row) ? from.ordered_word(row, nan_first) ^ flip : 0;
    });
  }
};

// The values of words.
struct WriteWords {
  static constexpr uint32_t kThreads = 512;
  using Scratch = ScanScratch;

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

// to[i] = the bit of row i, or of row rows[i], as a word; 1 for all where there are no bits.
struct SpreadBits {
  static constexpr uint32_t kThreads = 512;
  using Scratch = ScanScratch;

  const uint8_t* bits = nullptr;
  uint64_t first_bit = 0;
  const uint64_t* rows = nullptr;
  bool is_inverted = false;
  uint64_t* to = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    for_grid(place, group, count, [&](uint64_t at) {
      const uint64_t row = rows == nullptr ? at : rows[at];
      const bool is_there = bits == nullptr || DeviceValues::bit(bits, first_bit + row);
      to[at] = is_there != is_inverted ? 1 : 0;
    });
  }
};

// Sums of 128 bits as whole numbers of 64; *misfits becomes 1 if one does not fit. Sums of words of 64-bit unsigned
// numbers, which are 2^63 less each, come with how many there were.
struct NarrowSums {
  static constexpr uint32_t kThreads = 512;
  using Scratch = ScanScratch;

  const uint64_t* low = nullptr;
  const uint64_t* high = nullptr;
  const uint64_t* shifted_counts = nullptr;
  bool is_unsigned = false;
  uint64_t* to = nullptr;
  uint64_t* misfits = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    using Flag = typename Memory::template Atomic<uint64_t, Scope::kDevice>;
    for_grid(place, group, count, [&](uint64_t at) {
      uint64_t sum = low[at];
      uint64_t top = high[at];
      if (shifted_counts != nullptr) {
        const uint64_t added = shifted_counts[at] << 63;
        sum += added;
        top += (shifted_counts[at] >> 1) + (sum < added ? 1 : 0);
      }
      const uint64_t wanted = !is_unsigned && (sum & kSignBit) != 0 ? ~uint64_t{0} : 0;
      if (top != wanted) Flag(*misfits).store(1, Relaxed{});
      to[at] = sum;
    });
  }
};

}  // namespace crossdock
