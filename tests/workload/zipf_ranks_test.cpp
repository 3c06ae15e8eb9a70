// Shares as the law says.
#include "workload/zipf_ranks.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace crossdock::workload {
namespace {

// Ranks drawn by 2^17 numbers that are spread evenly: as many of a rank as its share says, give or take one.
TEST(ZipfRanks, DrawsEachRankByItsShare) {
  constexpr int kDraws = 1 << 17;
  for (const double theta : {0.5, 1.0, 1.2, 2.0}) {
    const ZipfRanks ranks(1000, theta);
    std::vector<int> drawn(1000);
    for (int i = 0; i < kDraws; ++i) ++drawn[ranks.rank_of((i + 0.5) / kDraws)];
    double share = 0;
    for (int rank = 0; rank < 1000; ++rank) {
      EXPECT_NEAR(drawn[rank], ranks.share_of(rank) * kDraws, 1.01) << theta << " " << rank;
      share += ranks.share_of(rank);
    }
    EXPECT_NEAR(share, 1, 1e-9);
  }
}

TEST(ZipfRanks, OfNoSkewAreAllAlike) {
  const ZipfRanks ranks(10, 0);
  for (int rank = 0; rank < 10; ++rank) EXPECT_EQ(ranks.rank_of(rank / 10.0 + 0.05), rank);
}

// Behind the ranks that are listed: shares of all ranks from k on, beside the sum of the law.
TEST(ZipfRanks, OfTheTailFollowTheLaw) {
  constexpr int64_t kRanks = 1'000'000;
  for (const double theta : {0.5, 1.0, 1.2}) {
    const ZipfRanks ranks(kRanks, theta);
    double total = 0;
    double before = 0;  // weight of the ranks before 300,000
    for (int64_t rank = 1; rank <= kRanks; ++rank) {
      if (rank == 300'001) before = total;
      total += std::pow(static_cast<double>(rank), -theta);
    }
    EXPECT_NEAR(ranks.rank_of(before / total), 300'000, 2) << theta;
    EXPECT_NEAR(ranks.share_of(0) * total, 1, 1e-6) << theta;
    EXPECT_EQ(ranks.rank_of(std::nextafter(1.0, 0.0)), kRanks - 1) << theta;
  }
}

TEST(ZipfRanks, OfOneIsIt) { EXPECT_EQ(ZipfRanks(1, 1.2).rank_of(0.999), 0); }

}  // namespace
}  // namespace crossdock::workload
