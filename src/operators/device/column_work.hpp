// Kernels between columns as users have them and what operators work on: 64-bit words, and lists of rows.
//
// The word of a value is a signed number that is equal exactly if values are, and less exactly if they are: whole
// numbers as they are (64-bit unsigned ones less 2^63), floats as their bits, those of negative ones inverted. -0.0 is
// 0.0, and all NaN are one value above all others, or below all where the largest of a group is looked for.
#pragma once

#include <cstdint>
#include <cstring>

#include "data/rings/atomic.hpp"
#include "operators/device/scan_work.hpp"

namespace crossdock {

enum class WordKind : uint8_t { kSigned, kUnsigned, kFloat };

// How the values of a column are stored.
struct WordForm {
  WordKind kind = WordKind::kSigned;
  uint32_t width_bytes = 8;  // 1, 2, 4 or 8; floats 4 or 8
  bool operator==(const WordForm&) const = default;
};

inline constexpr uint64_t kSignBit = uint64_t{1} << 63;
inline constexpr uint64_t kHighNan = ~kSignBit;  // as words; no number has either
inline constexpr uint64_t kLowNan = kSignBit;

CD_HOST_DEVICE inline uint64_t word_of_real(double value, bool nan_is_low) {
  if (value != value) return nan_is_low ? kLowNan : kHighNan;
  value += 0.0;  // -0.0 becomes 0.0
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  return (bits & kSignBit) != 0 ? bits ^ ~kSignBit : bits;
}

CD_HOST_DEVICE inline double real_of_word(uint64_t word) {
  uint64_t bits = (word & kSignBit) != 0 ? word ^ ~kSignBit : word;
  if (word == kHighNan || word == kLowNan) bits = 0x7FF8000000000000U;
  double value = 0;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

template <class T>
CD_HOST_DEVICE T value_at(const std::byte* values, uint64_t row) {
  return reinterpret_cast<const T*>(values)[row];
}

CD_HOST_DEVICE inline uint64_t word_of_value(const std::byte* values,
                                             uint64_t row,
                                             WordForm form,
                                             bool nan_is_low) {
  if (form.kind == WordKind::kFloat) {
    const double value =
        form.width_bytes == 4 ? value_at<float>(values, row) : value_at<double>(values, row);
    return word_of_real(value, nan_is_low);
  }
  const bool is_signed = form.kind == WordKind::kSigned;
  switch (form.width_bytes) {
    case 1:
      return is_signed ? static_cast<uint64_t>(int64_t{value_at<int8_t>(values, row)})
                       : value_at<uint8_t>(values, row);
    case 2:
      return is_signed ? static_cast<uint64_t>(int64_t{value_at<int16_t>(values, row)})
                       : value_at<uint16_t>(values, row);
    case 4:
      return is_signed ? static_cast<uint64_t>(int64_t{value_at<int32_t>(values, row)})
                       : value_at<uint32_t>(values, row);
    default:
      return is_signed ? value_at<uint64_t>(values, row)
                       : value_at<uint64_t>(values, row) ^ kSignBit;
  }
}

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

CD_HOST_DEVICE inline bool bit_at(const std::byte* bits, uint64_t at) {
  return (reinterpret_cast<const uint8_t*>(bits)[at / 8] >> (at % 8) & 1) != 0;
}

// visit(i) for the threads of the grid in turns.
template <BlockGroup G, class Visit>
CD_HOST_DEVICE void for_grid(BlockPlace place, const G& group, uint64_t count, Visit&& visit) {
  const uint64_t step = uint64_t{place.blocks} * group.size();
  for (uint64_t at = uint64_t{place.block} * group.size() + group.rank(); at < count; at += step)
    visit(at);
}

// to[i] = the word of values[i], or of values[rows[i]]; inverted for a descending order; 0 where a bit says NULL.
struct ReadWords {
  static constexpr uint32_t kThreads = 512;
  using Scratch = ScanScratch;

  const std::byte* values = nullptr;
  WordForm form{};
  const std::byte* bits = nullptr;
  uint64_t first_bit = 0;
  const uint64_t* rows = nullptr;
  bool is_descending = false;
  bool nan_is_low = false;
  uint64_t* to = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    const uint64_t flip = is_descending ? ~uint64_t{0} : 0;
    for_grid(place, group, count, [&](uint64_t at) {
      const uint64_t row = rows == nullptr ? at : rows[at];
      const bool is_there = bits == nullptr || bit_at(bits, first_bit + row);
      to[at] = is_there ? word_of_value(values, row, form, nan_is_low) ^ flip : 0;
    });
  }
};

// The values of words.
struct WriteWords {
  static constexpr uint32_t kThreads = 512;
  using Scratch = ScanScratch;

  const uint64_t* words = nullptr;
  WordForm form{};
  std::byte* to = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    for_grid(place, group, count, [&](uint64_t at) {
      uint64_t bits = words[at];
      if (form.kind == WordKind::kFloat) {
        const double value = real_of_word(bits);
        if (form.width_bytes == 4) {
          reinterpret_cast<float*>(to)[at] = static_cast<float>(value);
          return;
        }
        memcpy(&bits, &value, sizeof(bits));
      } else if (form.kind == WordKind::kUnsigned && form.width_bytes == 8) {
        bits ^= kSignBit;
      }
      put_bytes(to, at, form.width_bytes, bits);
    });
  }
};

// to[i] = the bit of row i, or of row rows[i], as a word; 1 for all where there are no bits.
struct SpreadBits {
  static constexpr uint32_t kThreads = 512;
  using Scratch = ScanScratch;

  const std::byte* bits = nullptr;
  uint64_t first_bit = 0;
  const uint64_t* rows = nullptr;
  bool is_inverted = false;
  uint64_t* to = nullptr;
  uint64_t count = 0;

  template <class Memory, BlockGroup G>
  CD_HOST_DEVICE void run(BlockPlace place, Scratch&, const G& group) const {
    for_grid(place, group, count, [&](uint64_t at) {
      const uint64_t row = rows == nullptr ? at : rows[at];
      const bool is_there = bits == nullptr || bit_at(bits, first_bit + row);
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
