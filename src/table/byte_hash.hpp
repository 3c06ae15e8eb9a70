// A 64-bit hash of one string. Internal to the room.
//
// Join keys are mostly short, and of lengths that vary, so what counts for up to 16 bytes is that no
// branch depends on the length: the bytes are loaded as two words at once and masked. Longer strings
// go to XXH3.
#pragma once

#include <cstdint>

#include "table/key_read.hpp"

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace crossdock::keys {

constexpr int64_t kShortBytes = 16;

struct ShortWords {
  uint64_t low;
  uint64_t high;
};

// A string of up to 16 bytes as two words, zeros behind its end. Reads only its own bytes.
inline ShortWords exact_words(const uint8_t* data, int64_t bytes) {
  if (bytes > 8)
    return {load<uint64_t>(data), load<uint64_t>(data + bytes - 8) >> (128 - 8 * bytes)};
  if (bytes == 8) return {load<uint64_t>(data), 0};
  if (bytes >= 4) {
    const uint64_t tail = load<uint32_t>(data + bytes - 4);
    return {load<uint32_t>(data) | (tail << (8 * (bytes - 4))), 0};
  }
  uint64_t low = 0;
  for (int64_t i = 0; i < bytes; ++i) low |= uint64_t{data[i]} << (8 * i);
  return {low, 0};
}

// The same, where 16 bytes can be read.
inline ShortWords masked_words(const uint8_t* data, int64_t bytes) {
  // Byte masks of a window that slides over 16 set and 16 cleared bytes.
  alignas(64) static constexpr uint8_t kWindow[32] = {
      255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  const uint8_t* mask = kWindow + (kShortBytes - bytes);
  return {load<uint64_t>(data) & load<uint64_t>(mask),
          load<uint64_t>(data + 8) & load<uint64_t>(mask + 8)};
}

// `end` = where the memory around `slice.data` ends (at least the slice's own end, or slice.data if
// nothing is known).
inline uint64_t hash_bytes(const Slice& slice, const uint8_t* end, uint64_t seed) {
  if (slice.bytes > kShortBytes) [[unlikely]] {
    return XXH3_64bits_withSeed(slice.data, static_cast<size_t>(slice.bytes), seed);
  }
  const ShortWords words = end - slice.data >= kShortBytes ? masked_words(slice.data, slice.bytes)
                                                           : exact_words(slice.data, slice.bytes);
  // Folded 64 x 64 multiplication; the length tells "a" from "a\0".
  const uint64_t low = words.low ^ seed ^ 0xA0761D6478BD642FU;
  const uint64_t high =
      words.high ^ 0xE7037ED1A0B428DBU ^ (static_cast<uint64_t>(slice.bytes) << 56);
  const UInt128 product = static_cast<UInt128>(low) * high;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ words.high;
}

}  // namespace crossdock::keys
