// A permutation, whatever n and the seed are, and one that leaves no order to be seen.
#include "workload/key_mix.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::workload {
namespace {

TEST(KeyMix, IsAPermutation) {
  for (const uint64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 100, 255, 256, 257, 1000, 65'537, 1'000'003}) {
    for (const uint64_t seed : {0, 1, 12345}) {
      const KeyMix mix(n, seed);
      std::vector<bool> seen(n);
      for (uint64_t i = 0; i < n; ++i) {
        const uint64_t key = mix(i);
        ASSERT_LT(key, n);
        ASSERT_FALSE(seen[key]) << n << " " << seed << " " << i;
        seen[key] = true;
      }
    }
  }
}

TEST(KeyMix, StaysInRangesBeyondWhatCanBeListed) {
  for (const uint64_t n : {(uint64_t{1} << 48) - 1, uint64_t{1} << 62, ~uint64_t{0}}) {
    const KeyMix mix(n, 7);
    for (uint64_t i = 0; i < 1000; ++i) EXPECT_LT(mix(n - 1 - i), n);
  }
}

// Numbers of random order are uncorrelated with their places, and about half of all neighbours ascend. Six standard
// deviations of either are allowed.
TEST(KeyMix, LeavesNoOrder) {
  constexpr int kNumbers = 100'000;
  for (const uint64_t seed : {1, 2, 3}) {
    const KeyMix mix(kNumbers, seed);
    double product = 0;
    int ascending = 0;
    for (int i = 0; i < kNumbers; ++i) {
      const auto key = static_cast<double>(mix(i));
      product += (key / kNumbers - 0.5) * (static_cast<double>(i) / kNumbers - 0.5);
      ascending += i > 0 && mix(i) > mix(i - 1);
    }
    const double correlation = product / kNumbers * 12;
    EXPECT_LT(std::abs(correlation), 6 / std::sqrt(kNumbers)) << seed;
    EXPECT_NEAR(ascending, kNumbers / 2, 6 * std::sqrt(kNumbers / 12.0)) << seed;
  }
}

TEST(KeyMix, HangsOnTheSeed) {
  const KeyMix one(1000, 1);
  const KeyMix other(1000, 2);
  int same = 0;
  for (int i = 0; i < 1000; ++i) same += one(i) == other(i);
  EXPECT_LT(same, 20);
}

}  // namespace
}  // namespace crossdock::workload
