// Loops over words in vectors give what one word after the other gives.
#include "operators/group_by/word_scan.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::operators {
namespace {

using ScanWords = std::vector<uint64_t>;
using Bytes = std::vector<uint8_t>;

class CompactWords : public ::testing::TestWithParam<double> {};

// Every length around the width of a vector, and a whole block.
TEST_P(CompactWords, KeepsTheMarkedOnesInOrder) {
  std::mt19937_64 draw(11);
  std::bernoulli_distribution keeps(GetParam());
  for (const int32_t count : {0, 1, 3, 7, 8, 9, 15, 16, 17, 63, 64, 1000, 1024}) {
    ScanWords words(count);
    Bytes keep(count);
    ScanWords expected;
    for (int32_t i = 0; i < count; ++i) {
      words[i] = draw();
      keep[i] = keeps(draw) ? 1 : 0;
      if (keep[i] != 0) expected.push_back(words[i]);
    }
    ScanWords aside(count);
    compact_words(words.data(), keep.data(), count, aside.data());
    aside.resize(expected.size());
    EXPECT_EQ(aside, expected) << count;
    compact_words(words.data(), keep.data(), count, words.data());
    words.resize(expected.size());
    EXPECT_EQ(words, expected) << count << " in place";
  }
}

INSTANTIATE_TEST_SUITE_P(Shares, CompactWords, ::testing::Values(0.0, 0.1, 0.5, 0.98, 1.0));

}  // namespace
}  // namespace crossdock::operators
