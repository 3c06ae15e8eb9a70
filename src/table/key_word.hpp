// What one stored value is as a key: 64-bit words that are equal exactly if values are, words that order as values do,
// and how the words of several columns become one hash. Constant expressions, so that kernels may call them, too.
#pragma once

#include <cstdint>

namespace crossdock {

// A stored value, seen as what reads it. Order and names follow the width and sign only.
enum class Stored : uint8_t {
  kBit,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kInt128,
  kFloat16,
  kFloat32,
  kFloat64,
  kBytes32,
  kBytes64,
  kByteViews,
};

// Of one value or offset; 0 for kBit.
constexpr int32_t stored_bytes(Stored stored) {
  switch (stored) {
    case Stored::kBit:
      return 0;
    case Stored::kInt8:
    case Stored::kUInt8:
      return 1;
    case Stored::kInt16:
    case Stored::kUInt16:
    case Stored::kFloat16:
      return 2;
    case Stored::kInt32:
    case Stored::kUInt32:
    case Stored::kFloat32:
    case Stored::kBytes32:
      return 4;
    case Stored::kInt64:
    case Stored::kUInt64:
    case Stored::kFloat64:
    case Stored::kBytes64:
      return 8;
    case Stored::kInt128:
    case Stored::kByteViews:
      return 16;
  }
  return 0;
}

// What is hashed in place of a NULL; any value would do.
constexpr uint64_t kNullKeyWord = 0x5BF03635AFF4A3C1U;

// The bits of a float key: one NaN, and no -0.
constexpr uint64_t canonical_float_bits(double value) {
  if (value != value) return 0x7FF8000000000000U;
  return __builtin_bit_cast(uint64_t, value + 0.0);  // -0 + 0 = +0
}

// Flipped, signed words order as unsigned ones.
constexpr uint64_t kSignBit = uint64_t{1} << 63;

// Unsigned words that order as the floats with these canonical bits do: negative ones inverted, NaN above infinity.
constexpr uint64_t order_of_float(uint64_t bits) {
  return bits ^ (static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63) | kSignBit);
}
constexpr uint64_t float_of_order(uint64_t word) {
  return (word & kSignBit) != 0 ? word ^ kSignBit : ~word;
}

// The hash of the columns so far, with the word of the next, before it is mixed. Keeps the order of columns apart:
// (a, b) and (b, a) hash differently.
constexpr uint64_t add_key_word(uint64_t hash, uint64_t word) {
  return hash * 0x9E3779B97F4A7C15U + word;
}

}  // namespace crossdock
