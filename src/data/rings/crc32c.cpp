// CRC-32C by eight tables: table k advances a byte over k further zero bytes, so that eight bytes need no chain of
// eight look-ups (Kounavis and Berry, IEEE Trans. Computers 57(11), 2008).
#include "data/rings/crc32c.hpp"

#include <array>
#include <cstring>

namespace crossdock {
namespace {

constexpr uint32_t kReflectedPolynomial = 0x82F63B78;
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kReflectedPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (int zeros = 1; zeros < 8; ++zeros) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t shorter = tables[zeros - 1][byte];
      tables[zeros][byte] = shorter >> 8 ^ tables[0][shorter & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t crc = ~before;
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= crc;
    crc = 0;
    for (int byte = 0; byte < 8; ++byte) crc ^= kTables[7 - byte][word >> 8 * byte & 0xFF];
  }
  for (; left > 0; --left, ++at) {
    crc = crc >> 8 ^ kTables[0][(crc ^ std::to_integer<uint32_t>(*at)) & 0xFF];
  }
  return ~crc;
}

}  // namespace crossdock
