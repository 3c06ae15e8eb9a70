// Text as words: what laying out keys and telling ties apart have in common. Internal to the room.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "table/key_read.hpp"

namespace crossdock::order_text {

constexpr int kTextBytesMax = 7;   // of one word: what 64 bits hold beside the count below
constexpr int kTextCountBits = 4;  // bytes left, at most kTextBytesMax + 1
constexpr int kTextWordBits = 8 * kTextBytesMax + kTextCountBits;
constexpr uint64_t kTextCountMask = (1 << kTextCountBits) - 1;

inline uint64_t low_bits(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

// Bytes [depth, depth + count) of a text, the first one on top, then the number of bytes from
// `depth` on, at most count + 1. Reads no byte outside the text.
inline uint64_t text_word(const keys::Slice& slice, int64_t depth, int count) {
  const int64_t left = slice.bytes - depth;
  if (left <= 0) return 0;
  uint64_t bytes = 0;
  const uint8_t* from = slice.data + depth;
  if (left >= 8) {
    bytes = __builtin_bswap64(keys::load<uint64_t>(from));
  } else if (slice.bytes >= 8) {  // the last eight bytes, those before `depth` shifted out
    bytes = __builtin_bswap64(keys::load<uint64_t>(slice.data + slice.bytes - 8)) << 8 * (8 - left);
  } else {
    for (int64_t i = 0; i < left; ++i) bytes |= uint64_t{from[i]} << (56 - 8 * i);
  }
  const auto rest = static_cast<uint64_t>(std::min<int64_t>(left, count + 1));
  return bytes >> (64 - 8 * count) << kTextCountBits | rest;
}

// How many bytes both start with.
inline int64_t common_bytes(const uint8_t* a, const uint8_t* b, int64_t bytes) {
  int64_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    const uint64_t different = keys::load<uint64_t>(a + at) ^ keys::load<uint64_t>(b + at);
    if (different != 0) return at + std::countr_zero(different) / 8;
  }
  while (at < bytes && a[at] == b[at]) ++at;
  return at;
}

}  // namespace crossdock::order_text
