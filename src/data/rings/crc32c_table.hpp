// What CRC-32C is made of: its polynomial, powers of x, and tables for the bytes that no vector holds. For crc32c.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace crossdock::rings {

// Bit 31 - d is the coefficient of x^d: messages come with the highest power in the lowest bit.
inline constexpr uint32_t kCrc32cPolynomial = 0x82F6'3B78;

constexpr uint32_t crc32c_times_x(uint32_t of) {
  return of >> 1 ^ ((of & 1) != 0 ? kCrc32cPolynomial : 0);
}

// x^exponent modulo the polynomial.
constexpr uint32_t crc32c_power(int exponent) {
  uint32_t power = uint32_t{1} << 31;
  for (int step = 0; step < exponent; ++step) power = crc32c_times_x(power);
  return power;
}

using Crc32cTables = std::array<std::array<uint32_t, 256>, 8>;

// Table k advances a byte over k further zero bytes, so that eight bytes need no chain of eight look-ups (Kounavis and
// Berry, IEEE Trans. Computers 57(11), 2008).
constexpr Crc32cTables make_crc32c_tables() {
  Crc32cTables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc32c_times_x(crc);
    tables[0][byte] = crc;
  }
  for (size_t zeros = 1; zeros < 8; ++zeros) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t shorter = tables[zeros - 1][byte];
      tables[zeros][byte] = shorter >> 8 ^ tables[0][shorter & 0xFF];
    }
  }
  return tables;
}

inline constexpr Crc32cTables kCrc32cTables = make_crc32c_tables();

// The register after `bytes` more bytes.
inline uint32_t crc32c_by_table(const uint8_t* at, size_t bytes, uint32_t crc) {
  for (; bytes >= 8; bytes -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= crc;
    crc = 0;
    for (int byte = 0; byte < 8; ++byte) crc ^= kCrc32cTables[7 - byte][word >> 8 * byte & 0xFF];
  }
  for (; bytes > 0; --bytes, ++at) crc = crc >> 8 ^ kCrc32cTables[0][(crc ^ *at) & 0xFF];
  return crc;
}

}  // namespace crossdock::rings
