// Splitters from samples, and the map against a plain search.
#include "data/sorters/splitters.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace crossdock::sorters {
namespace {

using Words = std::vector<uint64_t>;

Words sorted(Words words) {
  std::sort(words.begin(), words.end());
  return words;
}

uint16_t plain_find(const std::vector<Splitter>& splitters, uint64_t word) {
  uint16_t range = 0;
  for (size_t i = 0; i < splitters.size(); ++i) {
    if (splitters[i].word <= word) range = static_cast<uint16_t>(i);
  }
  return range;
}

// Words of a shape: evenly spread, near each other, around powers of two, or few of them.
Words split_words_of(int shape, int64_t count, std::mt19937_64& random) {
  Words words;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = random();
    switch (shape) {
      case 0:
        words.push_back(bits);
        break;
      case 1:
        words.push_back((uint64_t{1} << 63) + bits % 1000);
        break;
      case 2:
        words.push_back(bits >> (bits & 63));
        break;
      case 3:
        words.push_back(bits % 5 * 0x3333333333333333U);
        break;
      default:
        words.push_back(i % 3 == 0 ? bits : uint64_t{77});
    }
  }
  return words;
}

TEST(Splitters, AscendFromZeroAndNameEveryWordOnce) {
  std::mt19937_64 random(7);
  for (int shape = 0; shape < 5; ++shape) {
    for (const int ranges : {1, 2, 7, 300, 2048}) {
      for (const int64_t count : {0, 1, 50, 20'000}) {
        const auto splitters =
            choose_splitters(sorted(split_words_of(shape, count, random)), ranges);
        ASSERT_EQ(splitters[0].word, 0U);
        for (size_t i = 1; i < splitters.size(); ++i) {
          ASSERT_LT(splitters[i - 1].word, splitters[i].word);
        }
        EXPECT_LE(splitters.size(), static_cast<size_t>(3 * ranges + 2));
        const RangeMap map(splitters);
        Words probes = split_words_of(shape, 3000, random);
        for (const Words& more :
             {split_words_of(0, 500, random), Words{0, 1, UINT64_MAX - 1, UINT64_MAX}}) {
          probes.insert(probes.end(), more.begin(), more.end());
        }
        for (const Splitter& splitter : map.splitters()) {
          probes.push_back(splitter.word);
          probes.push_back(splitter.word - 1);
        }
        std::vector<uint16_t> range_of(probes.size());
        map.find(probes.data(), static_cast<int32_t>(probes.size()), range_of.data());
        for (size_t i = 0; i < probes.size(); ++i) {
          ASSERT_EQ(range_of[i], plain_find(map.splitters(), probes[i])) << probes[i];
        }
      }
    }
  }
}

TEST(Splitters, MakeRangesOfLikeSize) {
  std::mt19937_64 random(8);
  for (const int shape : {0, 2}) {
    const Words words = split_words_of(shape, 200'000, random);
    Words sample(words.begin(), words.begin() + 20'000);
    const RangeMap map(choose_splitters(sorted(sample), 64));
    std::vector<uint16_t> range_of(words.size());
    map.find(words.data(), static_cast<int32_t>(words.size()), range_of.data());
    std::vector<int64_t> rows(map.range_count());
    for (const uint16_t range : range_of) ++rows[range];
    for (int range = 0; range < map.range_count(); ++range) {
      if (map.splitter(range).is_heavy) continue;
      EXPECT_LT(rows[range], 2 * 200'000 / 64) << range;
    }
  }
}

TEST(Splitters, GiveHeavyWordsRangesOfTheirOwn) {
  Words sample;
  for (uint64_t i = 0; i < 1000; ++i) sample.push_back(i % 2 == 0 ? 500 : i);
  sample.push_back(UINT64_MAX);
  sample.push_back(UINT64_MAX);
  for (int i = 0; i < 300; ++i) sample.push_back(UINT64_MAX);
  const RangeMap map(choose_splitters(sorted(sample), 10));
  const Words probes = {499, 500, 501, UINT64_MAX - 1, UINT64_MAX};
  uint16_t range_of[5];
  map.find(probes.data(), 5, range_of);
  EXPECT_TRUE(map.splitter(range_of[1]).is_heavy);
  EXPECT_FALSE(map.splitter(range_of[0]).is_heavy);
  EXPECT_FALSE(map.splitter(range_of[2]).is_heavy);
  EXPECT_EQ(range_of[2], range_of[1] + 1);
  EXPECT_FALSE(map.splitter(range_of[3]).is_heavy);
  EXPECT_TRUE(map.splitter(range_of[4]).is_heavy);
}

}  // namespace
}  // namespace crossdock::sorters
