// A column in Arrow's layout that lies on a device, as kernels read it: bools as bits, integers, floats, decimals of
// 128 bits, and strings by offsets of 32 or 64 bits; NULLs by a bitmap. No dictionaries and no views.
//
// Words are those of the CPU's operators (table/key_word.hpp): integers sign- or zero-extended, floats as the bits of a
// double with one NaN and no -0. Which kind of value a column has is asked per value, but all threads get the same
// answer, so no kernel is compiled once per type.
#pragma once

#include <cstdint>

#include "data/rings/annotations.hpp"
#include "table/key_word.hpp"
#include "table/word_mix.hpp"

namespace crossdock::operators {

inline constexpr uint64_t kSignBit = uint64_t{1} << 63;

// Words that order as signed numbers, of floats with these canonical bits: NaN above all, or with `nan_first` below.
CD_HOST_DEVICE constexpr uint64_t ordered_word_of_float(uint64_t bits, bool nan_first) {
  if (nan_first && (bits & ~kSignBit) > uint64_t{0x7FF} << 52) return kSignBit;
  return order_of_float(bits) ^ kSignBit;
}

// A sum of 128 bits of such words, as one of the values: words of 64-bit unsigned numbers are 2^63 less each.
CD_HOST_DEVICE constexpr void unshift_sum(uint64_t* halves, uint64_t values) {
  const uint64_t added = values << 63;
  halves[0] += added;
  halves[1] += (values >> 1) + (halves[0] < added ? 1 : 0);
}

struct DeviceText {
  const uint8_t* data = nullptr;
  uint64_t bytes = 0;
};

CD_HOST_DEVICE constexpr bool is_text(Stored stored) {
  return stored == Stored::kBytes32 || stored == Stored::kBytes64;
}

CD_HOST_DEVICE constexpr bool is_float(Stored stored) {
  return stored == Stored::kFloat32 || stored == Stored::kFloat64;
}
CD_HOST_DEVICE constexpr bool is_unsigned(Stored stored) {
  return stored == Stored::kUInt8 || stored == Stored::kUInt16 || stored == Stored::kUInt32 ||
         stored == Stored::kUInt64;
}

// A plain handle: it does not own the memory.
struct DeviceValues {
  Stored stored = Stored::kInt64;     // neither kFloat16 nor kByteViews
  const void* values = nullptr;       // of strings the offsets, of bools bits
  const uint8_t* bytes = nullptr;     // of strings
  const uint8_t* validity = nullptr;  // a bit per element, 1 = value; nullptr: no NULLs
  uint64_t first = 0;                 // element of row 0

  CD_HOST_DEVICE static bool bit(const uint8_t* bits, uint64_t at) {
    return (bits[at >> 3] >> (at & 7) & 1) != 0;
  }
  CD_HOST_DEVICE bool is_valid(uint64_t row) const {
    return validity == nullptr || bit(validity, first + row);
  }
  template <class T>
  CD_HOST_DEVICE T element(uint64_t at) const {
    return static_cast<const T*>(values)[at];
  }

  // Of 128 bits the lower half. Not for strings; of a NULL anything.
  CD_HOST_DEVICE uint64_t word(uint64_t row) const {
    const uint64_t at = first + row;
    switch (stored) {
      case Stored::kBit:
        return bit(static_cast<const uint8_t*>(values), at) ? 1 : 0;
      case Stored::kInt8:
        return static_cast<uint64_t>(int64_t{element<int8_t>(at)});
      case Stored::kInt16:
        return static_cast<uint64_t>(int64_t{element<int16_t>(at)});
      case Stored::kInt32:
        return static_cast<uint64_t>(int64_t{element<int32_t>(at)});
      case Stored::kUInt8:
        return element<uint8_t>(at);
      case Stored::kUInt16:
        return element<uint16_t>(at);
      case Stored::kUInt32:
        return element<uint32_t>(at);
      case Stored::kFloat32:
        return canonical_float_bits(double{element<float>(at)});
      case Stored::kFloat64:
        return canonical_float_bits(element<double>(at));
      case Stored::kInt128:
        return element<uint64_t>(2 * at);
      default:
        return element<uint64_t>(at);
    }
  }
  CD_HOST_DEVICE uint64_t high_word(uint64_t row) const {
    return element<uint64_t>(2 * (first + row) + 1);
  }
  CD_HOST_DEVICE DeviceText text(uint64_t row) const {
    const uint64_t at = first + row;
    if (stored == Stored::kBytes32) {
      const auto begin = static_cast<uint64_t>(element<int32_t>(at));
      return {bytes + begin, static_cast<uint64_t>(element<int32_t>(at + 1)) - begin};
    }
    const auto begin = static_cast<uint64_t>(element<int64_t>(at));
    return {bytes + begin, static_cast<uint64_t>(element<int64_t>(at + 1)) - begin};
  }

  // Up to eight bytes of a text from `begin` on, the first one on top, zeros behind its end.
  CD_HOST_DEVICE static uint64_t text_word(const DeviceText& text, uint64_t begin) {
    uint64_t word = 0;
    for (uint64_t at = begin; at < begin + 8; ++at)
      word = word << 8 | (at < text.bytes ? text.data[at] : 0);
    return word;
  }

  // Words that order as signed numbers do: integers of one sign, and floats with NaN above all, or with `nan_first`
  // below, where it gives way to any other value in a maximum. Neither for strings nor for decimals.
  CD_HOST_DEVICE uint64_t ordered_word(uint64_t row, bool nan_first) const {
    const uint64_t bits = word(row);
    if (stored == Stored::kUInt64) return bits ^ kSignBit;
    if (!is_float(stored)) return bits;
    return ordered_word_of_float(bits, nan_first);
  }

  // What a key's hash is made of; equal for equal values. Not for NULLs.
  CD_HOST_DEVICE uint64_t hash_word(uint64_t row, const WordMix& mix) const {
    if (stored == Stored::kInt128) return add_key_word(mix.mix(word(row)), high_word(row));
    if (!is_text(stored)) return word(row);
    const DeviceText whole = text(row);
    uint64_t hash = whole.bytes;  // tells "a" from "a\0"
    for (uint64_t at = 0; at < whole.bytes; at += 8)
      hash = mix.mix(add_key_word(hash, text_word(whole, at)));
    return hash;
  }

  // Whether one value of the column is before another: of strings by bytes. Not for floats and NULLs.
  CD_HOST_DEVICE bool is_less(uint64_t row, uint64_t than) const {
    if (is_text(stored)) return is_less_text(text(row), text(than));
    if (stored == Stored::kInt128) {
      const auto high = static_cast<int64_t>(high_word(row));
      const auto than_high = static_cast<int64_t>(high_word(than));
      return high != than_high ? high < than_high : word(row) < word(than);
    }
    return static_cast<int64_t>(ordered_word(row, false)) <
           static_cast<int64_t>(ordered_word(than, false));
  }
  CD_HOST_DEVICE static bool is_less_text(const DeviceText& text, const DeviceText& than) {
    const uint64_t shorter = text.bytes < than.bytes ? text.bytes : than.bytes;
    for (uint64_t at = 0; at < shorter; ++at)
      if (text.data[at] != than.data[at]) return text.data[at] < than.data[at];
    return text.bytes < than.bytes;
  }

  // Whether two values of one kind are equal. Not for NULLs.
  CD_HOST_DEVICE bool equals(uint64_t row, const DeviceValues& other, uint64_t other_row) const {
    if (!is_text(stored)) {
      return word(row) == other.word(other_row) &&
             (stored != Stored::kInt128 || high_word(row) == other.high_word(other_row));
    }
    const DeviceText mine = text(row);
    const DeviceText theirs = other.text(other_row);
    if (mine.bytes != theirs.bytes) return false;
    for (uint64_t at = 0; at < mine.bytes; ++at)
      if (mine.data[at] != theirs.data[at]) return false;
    return true;
  }
};

// The word of a value from its ordered_word.
CD_HOST_DEVICE constexpr uint64_t bits_of_ordered_word(Stored stored, uint64_t word) {
  if (stored == Stored::kUInt64) return word ^ kSignBit;
  if (!is_float(stored)) return word;
  return word == kSignBit ? uint64_t{0x7FF8} << 48 : float_of_order(word ^ kSignBit);
}

}  // namespace crossdock::operators
