// Streams of every width and length, against values that are packed one bit at a time.
#include "data/codecs/bit_streams.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "data/codecs/block_format.hpp"

namespace crossdock::codecs {
namespace {

constexpr uint64_t kUntouched = 0xDEADBEEFDEADBEEF;

std::vector<uint64_t> random_words(int count, int bits, uint64_t base, std::mt19937_64& random) {
  std::vector<uint64_t> words(static_cast<size_t>(count + kStreamLanes), kUntouched);
  for (int i = 0; i < count; ++i) {
    words[static_cast<size_t>(i)] = base + (bits == 0 ? 0 : random() >> (64 - bits));
  }
  return words;
}

// Bit `bit` of value `i` of a stream.
bool bit_of(const std::vector<uint64_t>& stream, int count, int bits, int i, int bit) {
  const int lanes = lanes_of(count);
  const int at = i / lanes * bits + bit;
  return (stream[static_cast<size_t>(at / 64 * lanes + i % lanes)] >> at % 64 & 1) != 0;
}

TEST(BitStreams, GiveBackWhatWasPackedInTheLanesOfTheFormat) {
  std::mt19937_64 random(1);
  for (int bits = 0; bits <= 64; ++bits) {
    for (const int count : {0, 1, 2, 63, 64, 255, 256, 257, 1000, 1023, 1024}) {
      const uint64_t base = bits % 3 == 0 ? 0 : random();
      const std::vector<uint64_t> values = random_words(count, bits, base, random);
      std::vector<uint64_t> words = values;
      std::vector<uint64_t> stream(static_cast<size_t>(stream_words(count, bits)) + 1, kUntouched);
      pack_stream(words.data(), count, base, bits, stream.data());
      ASSERT_EQ(stream.back(), kUntouched) << count << " of " << bits;
      for (int i = 0; i < count; i += 1 + count / 50) {
        const uint64_t distance = values[static_cast<size_t>(i)] - base;
        for (int bit = 0; bit < bits; ++bit) {
          ASSERT_EQ(bit_of(stream, count, bits, i, bit), (distance >> bit & 1) != 0)
              << i << " of " << count;
        }
      }
      std::vector<uint64_t> unpacked(values.size(), kUntouched);
      unpack_stream(stream.data(), count, base, bits, unpacked.data());
      for (int i = 0; i < count; ++i) {
        ASSERT_EQ(unpacked[static_cast<size_t>(i)], values[static_cast<size_t>(i)])
            << i << " of " << count << ", " << bits;
      }
    }
  }
}

TEST(BitStreams, FindTheLeastBaseAndTheBitsOfAllDistances) {
  const auto range = [](std::vector<int64_t> values) {
    return stream_range(reinterpret_cast<const uint64_t*>(values.data()),
                        static_cast<int>(values.size()));
  };
  EXPECT_EQ(range({}).bits, 0);
  EXPECT_EQ(range({7, 7, 7}).bits, 0);
  EXPECT_EQ(range({7, 7, 7}).base, 7U);
  EXPECT_EQ(range({-3, 4}).bits, 3);
  EXPECT_EQ(static_cast<int64_t>(range({5, -3, 4, 1, 2, 3, 4, 5, 4, 3, -4}).base), -4);
  EXPECT_EQ(range({INT64_MIN, INT64_MAX}).bits, 64);
  EXPECT_EQ(range({-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 1000}).bits, 10);
}

}  // namespace
}  // namespace crossdock::codecs
