// Ranges by arithmetic, against a plain search for the last start that is not above a word.
#include "data/sorters/even_ranges.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "data/sorters/splitters.hpp"

namespace crossdock::sorters {
namespace {

using Words = std::vector<uint64_t>;

Words even_starts(uint64_t first, uint64_t width, int ranges) {
  Words starts = {0};
  for (int i = 1; i < ranges; ++i) starts.push_back(first + static_cast<uint64_t>(i) * width);
  return starts;
}

// Around every start, at the ends of all words, and anywhere.
Words probes_for(const Words& starts, std::mt19937_64& random) {
  Words probes = {0, 1, UINT64_MAX - 1, UINT64_MAX};
  for (const uint64_t start : starts) {
    for (const uint64_t word : {start - 1, start, start + 1}) probes.push_back(word);
  }
  for (int i = 0; i < 501; ++i) probes.push_back(random());
  return probes;
}

void expect_plain_search(const EvenRanges& even, const Words& starts, const Words& probes) {
  std::vector<uint16_t> range_of(probes.size());
  even.find(probes.data(), static_cast<int32_t>(probes.size()), range_of.data());
  for (size_t i = 0; i < probes.size(); ++i) {
    const auto plain =
        std::upper_bound(starts.begin(), starts.end(), probes[i]) - starts.begin() - 1;
    ASSERT_EQ(range_of[i], plain) << probes[i] << " of " << starts.size() << " ranges";
  }
}

TEST(EvenRanges, NameEveryWordAsAPlainSearchDoes) {
  std::mt19937_64 random(3);
  for (const int ranges : {3, 4, 1000, 2048, 4096}) {
    for (int bits = 15; bits <= 52; ++bits) {
      const uint64_t width = even_width((uint64_t{1} << (bits - 1)) + (random() >> (65 - bits)));
      const uint64_t room = UINT64_MAX - static_cast<uint64_t>(ranges) * width;
      for (const uint64_t first : {uint64_t{0}, random() % room, room}) {
        const Words starts = even_starts(first, width, ranges);
        const auto even = EvenRanges::of(starts);
        ASSERT_TRUE(even.has_value()) << width;
        expect_plain_search(*even, starts, probes_for(starts, random));
      }
    }
  }
}

TEST(EvenRanges, AreNotWhatIsUnevenOrNarrowOrTooMany) {
  const uint64_t width = even_width(1'000'000);
  Words uneven = even_starts(5, width, 100);
  uneven[50] += 1;
  EXPECT_FALSE(EvenRanges::of(uneven).has_value());
  EXPECT_FALSE(EvenRanges::of(even_starts(5, width + 1, 100)).has_value());
  EXPECT_FALSE(EvenRanges::of(even_starts(5, 1000, 100)).has_value());
  EXPECT_FALSE(EvenRanges::of(even_starts(5, width, 4097)).has_value());
  EXPECT_FALSE(EvenRanges::of(Words{0, width}).has_value());
  EXPECT_FALSE(EvenRanges::of(Words{0, width - 1, 2 * width - 1}).has_value());
}

TEST(EvenRanges, WidthsAreTheNextThatDivisionsAreCheapFor) {
  EXPECT_EQ(even_width(1 << 13), 0U);
  EXPECT_EQ(even_width(1 << 14), 1U << 14);
  EXPECT_EQ(even_width((1 << 15) - 1), (1U << 15) - 1);
  EXPECT_EQ(even_width((1 << 15) + 1), (1U << 15) + 2);
  EXPECT_EQ(even_width((1 << 20) - 1), 1U << 20);
  EXPECT_EQ(even_width(uint64_t{1} << 63), uint64_t{1} << 63);
  EXPECT_EQ(even_width(UINT64_MAX), 0U);
}

TEST(EvenRanges, AreChosenForEvenlySpreadWordsOnly) {
  std::mt19937_64 random(4);
  for (const int shift : {0, 3, 20}) {
    Words sample;
    for (int i = 0; i < 32'000; ++i) sample.push_back((random() >> shift) + 99);
    std::sort(sample.begin(), sample.end());
    Words starts;
    for (const Splitter& splitter : choose_splitters(sample, 1000)) starts.push_back(splitter.word);
    EXPECT_TRUE(EvenRanges::of(starts).has_value()) << shift;
    EXPECT_LE(starts.size(), 1000U);
    // A tenth of the words near one place: ranges must follow them.
    for (int i = 0; i < 3'200; ++i) sample[i] = (uint64_t{1} << 40) + random() % 1'000'000;
    std::sort(sample.begin(), sample.end());
    starts.clear();
    for (const Splitter& splitter : choose_splitters(sample, 1000)) starts.push_back(splitter.word);
    EXPECT_FALSE(EvenRanges::of(starts).has_value()) << shift;
  }
}

}  // namespace
}  // namespace crossdock::sorters
