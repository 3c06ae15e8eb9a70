// Bits and bytes, compared with one at a time.
#include "table/bitmap.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock {
namespace {

std::vector<uint8_t> random_bytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST(Bitmap, PacksLowestBitsAndCountsThem) {
  for (size_t count = 0; count <= 40; ++count) {
    const std::vector<uint8_t> bytes = random_bytes(count, 1);
    std::vector<uint8_t> expected((count + 7) / 8);
    int64_t ones = 0;
    for (size_t i = 0; i < count; ++i) {
      expected[i / 8] |= static_cast<uint8_t>((bytes[i] & 1) << (i % 8));
      ones += bytes[i] & 1;
    }
    std::vector<uint8_t> bits(expected.size(), 0xFF);
    EXPECT_EQ(pack_bits(bytes.data(), static_cast<int64_t>(count), bits.data()), ones);
    EXPECT_EQ(bits, expected) << count;
  }
}

TEST(Bitmap, ExpandsFromAnyBit) {
  const std::vector<uint8_t> bits = random_bytes(8, 2);
  for (int64_t first = 0; first < 17; ++first) {
    for (int32_t count = 0; count + first <= 64; ++count) {
      std::vector<uint8_t> bytes(static_cast<size_t>(count), 0xFF);
      expand_bits(bits.data(), first, count, bytes.data());
      for (int32_t i = 0; i < count; ++i) {
        const int64_t bit = first + i;
        ASSERT_EQ(bytes[i], (bits[bit / 8] >> (bit % 8)) & 1) << first << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace crossdock
