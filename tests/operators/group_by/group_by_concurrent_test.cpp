// Group-bys of four workers: every strategy over keys of many shapes, against a plain map; runs that
// are cancelled, and runs that have too little memory. The thread sanitizer runs these.
#include <limits>
#include <map>

#include <gmock/gmock.h>

#include "operators/group_by/grouping.hpp"

namespace crossdock::operators {
namespace {

using namespace arrow_test;
using namespace group_test;

constexpr int64_t kConcurrentRows = 300'000;  // so that four workers start

enum class Keys { kFew, kSparse, kMany, kHeavy, kAscending, kDescending, kOne };

std::optional<int64_t> key_of(Keys keys, int64_t i) {
  const auto spread = [](int64_t key) {
    return static_cast<int64_t>(static_cast<uint64_t>(key) * 0x9E3779B97F4A7C15U);
  };
  switch (keys) {
    case Keys::kFew:
      return i % 101 == 0 ? std::nullopt : std::optional<int64_t>(i * 7919 % 90 - 45);
    case Keys::kSparse:
      return spread(i * 7919 % 3'000);
    case Keys::kMany:
      return spread(i * 7919 % 50'021);
    case Keys::kHeavy:
      return i % 3 != 0 ? 17 : spread(i * 7919 % 30'011);
    case Keys::kAscending:
      return i / 7;
    case Keys::kDescending:
      return -(i / 70'000) + std::numeric_limits<int64_t>::max();
    case Keys::kOne:
      return std::numeric_limits<int64_t>::min();
  }
  return std::nullopt;
}

TablePtr table_of(Keys keys) {
  constexpr int64_t kPieceRows = 37'001;
  std::vector<Columns> batches;
  for (int64_t begin = 0; begin < kConcurrentRows; begin += kPieceRows) {
    Optionals<int64_t> key;
    Optionals<int64_t> value;
    Optionals<bool> filter;
    for (int64_t i = begin; i < std::min(kConcurrentRows, begin + kPieceRows); ++i) {
      key.push_back(key_of(keys, i));
      value.push_back(i % 11 == 0 ? std::nullopt : std::optional<int64_t>(i * 31 % 1'000 - 500));
      filter.push_back(i % 5 == 0 ? std::nullopt : std::optional<bool>(i % 2 == 0));
    }
    batches.push_back(
        {{"k", fixed<int64_t>("l", key)}, {"v", fixed<int64_t>("l", value)}, {"f", bools(filter)}});
  }
  return make_table(std::move(batches));
}

struct Total {
  int64_t rows = 0;
  int64_t values = 0;
  int64_t sum = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t kept = 0;  // rows that the filter lets through
  std::optional<int64_t> first;
};

std::vector<Texts> expected_rows(Keys keys) {
  std::map<std::optional<int64_t>, Total> totals;
  for (int64_t i = 0; i < kConcurrentRows; ++i) {
    Total& total = totals[key_of(keys, i)];
    ++total.rows;
    total.kept += i % 5 != 0 && i % 2 == 0;
    if (i % 11 == 0) continue;
    const int64_t value = i * 31 % 1'000 - 500;
    ++total.values;
    total.sum += value;
    total.least = std::min(total.least, value);
    if (!total.first) total.first = value;
  }
  std::vector<Texts> rows;
  for (const auto& [key, total] : totals) {
    const auto text = [values = total.values](int64_t value) {
      return values == 0 ? std::string("null") : std::to_string(value);
    };
    rows.push_back({key ? std::to_string(*key) : "null",
                    std::to_string(total.rows),
                    std::to_string(total.values),
                    text(total.sum),
                    text(total.least),
                    text(total.first.value_or(0)),
                    std::to_string(total.kept)});
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

GroupSpec spec_of(GroupStrategy strategy) {
  GroupSpec spec;
  spec.keys = {0};
  spec.strategy = strategy;
  spec.aggregates = {aggregate(AggregateFunction::kCount),
                     aggregate(AggregateFunction::kCount, 1),
                     aggregate(AggregateFunction::kSum, 1),
                     aggregate(AggregateFunction::kMin, 1),
                     aggregate(AggregateFunction::kFirst, 1),
                     aggregate(AggregateFunction::kCount, -1, 2)};
  return spec;
}

using Case = std::tuple<Keys, GroupStrategy>;
class GroupByConcurrent : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Strategies,
                         GroupByConcurrent,
                         testing::Combine(testing::Values(Keys::kFew,
                                                          Keys::kSparse,
                                                          Keys::kMany,
                                                          Keys::kHeavy,
                                                          Keys::kAscending,
                                                          Keys::kDescending,
                                                          Keys::kOne),
                                          testing::Values(GroupStrategy::kAuto,
                                                          GroupStrategy::kTable,
                                                          GroupStrategy::kRadix,
                                                          GroupStrategy::kAdaptive)));
INSTANTIATE_TEST_SUITE_P(Dense,
                         GroupByConcurrent,
                         testing::Combine(testing::Values(Keys::kFew, Keys::kOne, Keys::kAscending),
                                          testing::Values(GroupStrategy::kDense)));
INSTANTIATE_TEST_SUITE_P(
    Sorted,
    GroupByConcurrent,
    testing::Combine(testing::Values(Keys::kAscending, Keys::kDescending, Keys::kOne),
                     testing::Values(GroupStrategy::kSorted)));

TEST_P(GroupByConcurrent, AddsUpEveryGroup) {
  const auto [keys, strategy] = GetParam();
  Setting setting;
  const Outcome outcome = group(table_of(keys), spec_of(strategy), setting);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  const std::vector<Texts> expected = expected_rows(keys);
  const std::vector<Texts> rows = sorted_rows(outcome);
  ASSERT_EQ(rows.size(), expected.size());
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], expected[i]);
  EXPECT_EQ(outcome.profile.result_rows, static_cast<int64_t>(expected.size()));
}

TEST(GroupByConcurrentRuns, CountDistinctValuesBesideOtherAggregates) {
  Setting setting;
  GroupSpec spec;
  spec.keys = {0};
  spec.aggregates = {aggregate(AggregateFunction::kSum, 1),
                     aggregate(AggregateFunction::kCountDistinct, 1),
                     aggregate(AggregateFunction::kCountDistinct, 1, 2)};
  const Outcome outcome = group(table_of(Keys::kOne), std::move(spec), setting);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  const std::vector<Texts> rows = sorted_rows(outcome);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0][2], "1000");
  EXPECT_EQ(rows[0][3], "400");  // of even rows that 5 does not divide: even values, 5 not dividing
}

TEST(GroupByConcurrentRuns, EndWhenCancelled) {
  for (const auto strategy :
       {GroupStrategy::kTable, GroupStrategy::kRadix, GroupStrategy::kAdaptive}) {
    Setting setting;
    setting.cancel.set();
    const Outcome outcome = group(table_of(Keys::kMany), spec_of(strategy), setting);
    ASSERT_FALSE(outcome.status.ok());
    EXPECT_EQ(outcome.status.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(setting.memory->used_bytes(), 0);
  }
}

TEST(GroupByConcurrentRuns, NameTheBudgetAndGiveEverythingBack) {
  for (const auto strategy :
       {GroupStrategy::kTable, GroupStrategy::kRadix, GroupStrategy::kAdaptive}) {
    Setting setting;
    setting.memory = Memory::create(int64_t{1} << 20);
    {
      const Outcome outcome = group(table_of(Keys::kMany), spec_of(strategy), setting);
      ASSERT_FALSE(outcome.status.ok());
      EXPECT_EQ(outcome.status.error().code, ErrorCode::kOutOfMemoryBudget);
      EXPECT_THAT(outcome.status.error().message, testing::StartsWith("group_by: "));
    }
    EXPECT_EQ(setting.memory->used_bytes(), 0);
  }
}

}  // namespace
}  // namespace crossdock::operators
