// Unique keys, as many partners as asked for, and the same rows wherever they are made.
#include "workload/join_workload.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::workload {
namespace {

JoinWorkload make(JoinWorkloadSpec spec) {
  Result<JoinWorkload> valid = JoinWorkload::make(spec);
  EXPECT_TRUE(valid.ok());
  return std::move(valid.value());
}

std::vector<int64_t> inner_keys(const JoinWorkload& workload) {
  std::vector<int64_t> keys(static_cast<size_t>(workload.spec().inner_rows));
  workload.inner_keys(0, workload.spec().inner_rows, keys.data());
  return keys;
}

std::vector<int64_t> outer_keys(const JoinWorkload& workload) {
  std::vector<int64_t> keys(static_cast<size_t>(workload.spec().outer_rows));
  workload.outer_keys(0, workload.spec().outer_rows, keys.data());
  return keys;
}

std::map<int64_t, int64_t> partners(const JoinWorkload& workload) {
  std::map<int64_t, int64_t> counts;
  for (const int64_t key : inner_keys(workload)) EXPECT_TRUE(counts.emplace(key, 0).second);
  for (const int64_t key : outer_keys(workload)) {
    const auto partner = counts.find(key);
    if (partner != counts.end()) ++partner->second;
  }
  return counts;
}

TEST(JoinWorkload, DenseKeysAreTheNumbersFromZeroOn) {
  std::vector<int64_t> keys = inner_keys(make({.inner_rows = 1000, .outer_rows = 1}));
  EXPECT_FALSE(std::is_sorted(keys.begin(), keys.end()));
  std::sort(keys.begin(), keys.end());
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(keys[i], i);
}

TEST(JoinWorkload, SparseKeysAreUniqueAndOfBothSigns) {
  const std::vector<int64_t> keys =
      inner_keys(make({.inner_rows = 1000, .outer_rows = 1, .is_sparse = true}));
  EXPECT_EQ(std::set<int64_t>(keys.begin(), keys.end()).size(), 1000u);
  const auto negative = std::count_if(keys.begin(), keys.end(), [](int64_t k) { return k < 0; });
  EXPECT_NEAR(negative, 500, 50);
}

TEST(JoinWorkload, EveryInnerRowHasAsManyPartners) {
  for (const int64_t ratio : {1, 2, 4, 8}) {
    for (const bool is_sparse : {false, true}) {
      const JoinWorkload workload =
          make({.inner_rows = 1000, .outer_rows = 1000 * ratio, .is_sparse = is_sparse});
      for (const auto& [key, count] : partners(workload)) ASSERT_EQ(count, ratio) << key;
      EXPECT_EQ(workload.result_rows(), 1000 * ratio);
    }
  }
}

TEST(JoinWorkload, AShareOfTheOuterRowsHasPartners) {
  for (const double zipf : {0.0, 1.0}) {
    for (const double selectivity : {0.0, 0.25, 0.5}) {
      const JoinWorkload workload = make(
          {.inner_rows = 1000, .outer_rows = 4000, .selectivity = selectivity, .zipf_theta = zipf});
      int64_t pairs = 0;
      for (const auto& [key, count] : partners(workload)) pairs += count;
      EXPECT_EQ(pairs, static_cast<int64_t>(4000 * selectivity));
      EXPECT_EQ(pairs, workload.result_rows());
    }
  }
}

TEST(JoinWorkload, RowsWithoutPartnersHaveKeysOfTheirOwn) {
  const std::vector<int64_t> keys = outer_keys(
      make({.inner_rows = 100, .outer_rows = 1000, .selectivity = 0, .is_sparse = true}));
  EXPECT_EQ(std::set<int64_t>(keys.begin(), keys.end()).size(), 1000u);
}

// With theta 1.2 and 1,000 keys the first has 23 % of the rows; 6 standard deviations of 100,000 draws are 0.8 %.
TEST(JoinWorkload, SkewFollowsTheLaw) {
  const JoinWorkload workload =
      make({.inner_rows = 1000, .outer_rows = 100'000, .zipf_theta = 1.2});
  std::vector<int64_t> counts;
  for (const auto& [key, count] : partners(workload)) counts.push_back(count);
  std::sort(counts.rbegin(), counts.rend());
  const ZipfRanks ranks(1000, 1.2);
  for (const int rank : {0, 1, 2}) {
    EXPECT_NEAR(static_cast<double>(counts[rank]) / 1e5, ranks.share_of(rank), 0.008) << rank;
  }
}

TEST(JoinWorkload, PartsAreThoseOfTheWhole) {
  const JoinWorkload workload = make({.inner_rows = 1000,
                                      .outer_rows = 3000,
                                      .selectivity = 0.5,
                                      .zipf_theta = 1,
                                      .is_sparse = true,
                                      .seed = 9});
  const std::vector<int64_t> whole = outer_keys(workload);
  std::vector<int64_t> part(500);
  workload.outer_keys(1700, 500, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 1700));
}

TEST(JoinWorkload, RefusesWhatCannotBe) {
  EXPECT_FALSE(JoinWorkload::make({.inner_rows = 0, .outer_rows = 1}).ok());
  EXPECT_FALSE(JoinWorkload::make({.inner_rows = 1, .outer_rows = -1}).ok());
  EXPECT_FALSE(JoinWorkload::make({.inner_rows = 1, .outer_rows = 1, .selectivity = 1.5}).ok());
  EXPECT_FALSE(JoinWorkload::make({.inner_rows = 1, .outer_rows = 1, .zipf_theta = -1}).ok());
}

}  // namespace
}  // namespace crossdock::workload
