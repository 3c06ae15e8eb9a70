// Bits of Arrow's bitmaps from and to bytes that are 0 or 1, eight at a time.
#pragma once

#include <cstdint>
#include <cstring>

namespace crossdock {

// Of each byte the lowest bit; answers how many are 1, which costs nothing where it is not used. `bits` has room for
// whole bytes.
inline int64_t pack_bits(const uint8_t* bytes, int64_t count, uint8_t* bits) {
  constexpr uint64_t kLowest = 0x0101010101010101;
  int64_t ones = 0;
  const auto pack = [&](int64_t at, size_t some) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, some);
    word &= kLowest;
    // Byte k moves to bit 56 + k; no two sums of the product meet in the top byte.
    bits[at / 8] = static_cast<uint8_t>(word * 0x0102040810204080 >> 56);
    ones += static_cast<int64_t>(word * kLowest >> 56);
  };
  const int64_t whole = count / 8 * 8;
  for (int64_t at = 0; at < whole; at += 8) pack(at, 8);
  if (whole < count) pack(whole, static_cast<size_t>(count - whole));
  return ones;
}

// `count` bits from bit `first` on.
inline void expand_bits(const uint8_t* bits, int64_t first, int32_t count, uint8_t* bytes) {
  const auto expand_one = [&](int32_t i) {
    bytes[i] = (bits[(first + i) >> 3] >> ((first + i) & 7)) & 1;
  };
  int32_t i = 0;
  for (; i < count && ((first + i) & 7) != 0; ++i) expand_one(i);
  for (; i + 8 <= count; i += 8) {
    // Copies of the byte 7 bits apart put bit k of it at the bottom of byte k.
    const uint64_t all = bits[(first + i) >> 3];
    const uint64_t low = (all & 0x0F) * 0x00204081U & 0x01010101U;
    const uint64_t high = (all >> 4) * 0x00204081U & 0x01010101U;
    const uint64_t spread = low | high << 32;
    std::memcpy(bytes + i, &spread, 8);
  }
  for (; i < count; ++i) expand_one(i);
}

}  // namespace crossdock
