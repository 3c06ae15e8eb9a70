// Group-bys of four workers: every strategy over keys of many shapes, against a plain map; runs that
// are cancelled, and runs that have too little memory. The thread sanitizer runs these.
#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include <gmock/gmock.h>

#include "operators/group_by/grouping.hpp"

namespace crossdock::operators {
namespace {

using namespace arrow_test;
using namespace group_test;

constexpr int64_t kConcurrentRows = 265'000;  // so that four workers start

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
  int64_t bits = 0;  // that an odd number of values has
  std::vector<int64_t> each;
  int64_t kept = 0;  // rows that the filter lets through
  std::optional<int64_t> first;
};

// The key and its aggregates; as numbers, since the thread sanitizer takes seconds to compare them as strings.
using Row = std::array<std::optional<int64_t>, 9>;

std::vector<Row> expected_rows(Keys keys) {
  std::map<std::optional<int64_t>, Total> totals;
  for (int64_t i = 0; i < kConcurrentRows; ++i) {
    Total& total = totals[key_of(keys, i)];
    ++total.rows;
    total.kept += i % 5 != 0 && i % 2 == 0;
    if (i % 11 == 0) continue;
    const int64_t value = i * 31 % 1'000 - 500;
    ++total.values;
    total.sum += value;
    total.bits ^= value;
    total.each.push_back(value);
    if (!total.first) total.first = value;
  }
  std::vector<Row> rows;
  for (auto& [key, total] : totals) {
    std::sort(total.each.begin(), total.each.end());
    const auto of_values = [values = total.values](int64_t value) {
      return values == 0 ? std::nullopt : std::optional<int64_t>(value);
    };
    rows.push_back({key,
                    total.rows,
                    total.values,
                    of_values(total.sum),
                    of_values(total.each.empty() ? 0 : total.each.front()),
                    total.first,
                    total.kept,
                    of_values(total.bits),
                    of_values(total.each.empty() ? 0 : total.each[(total.each.size() - 1) / 2])});
  }
  return rows;
}

// In the order of the keys, null first.
std::vector<Row> rows_of(const Outcome& outcome) {
  std::vector<Row> rows;
  for (const Batch& batch : outcome.batches) {
    EXPECT_EQ(batch.columns.size(), std::tuple_size_v<Row>);
    for (const Field& field : batch.schema->fields) EXPECT_EQ(field.type.id, TypeId::kInt64);
    for (int64_t i = 0; i < batch.rows; ++i) {
      Row& row = rows.emplace_back();
      for (size_t c = 0; c < row.size(); ++c) {
        const ColumnView& column = batch.columns[c];
        if (column.is_valid(i)) row[c] = column.data<int64_t>()[i];
      }
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a[0] < b[0]; });
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
                     aggregate(AggregateFunction::kCount, -1, 2),
                     aggregate(AggregateFunction::kBitXor, 1),
                     aggregate(AggregateFunction::kQuantileDisc, 1)};
  return spec;
}

std::vector<GroupStrategy> strategies_for(Keys keys) {
  std::vector<GroupStrategy> strategies = {
      GroupStrategy::kAuto, GroupStrategy::kTable, GroupStrategy::kRadix, GroupStrategy::kAdaptive};
  if (keys == Keys::kFew || keys == Keys::kOne || keys == Keys::kAscending) {
    strategies.push_back(GroupStrategy::kDense);
  }
  if (keys == Keys::kAscending || keys == Keys::kDescending || keys == Keys::kOne) {
    strategies.push_back(GroupStrategy::kSorted);
  }
  return strategies;
}

class GroupByConcurrent : public testing::TestWithParam<Keys> {};
INSTANTIATE_TEST_SUITE_P(Shapes,
                         GroupByConcurrent,
                         testing::Values(Keys::kFew,
                                         Keys::kSparse,
                                         Keys::kMany,
                                         Keys::kHeavy,
                                         Keys::kAscending,
                                         Keys::kDescending,
                                         Keys::kOne));

TEST_P(GroupByConcurrent, AddsUpEveryGroupByEveryStrategy) {
  const TablePtr table = table_of(GetParam());
  const std::vector<Row> expected = expected_rows(GetParam());
  for (const GroupStrategy strategy : strategies_for(GetParam())) {
    SCOPED_TRACE("strategy " + std::to_string(static_cast<int>(strategy)));
    Setting setting;
    const Outcome outcome = group(table, spec_of(strategy), setting);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
    const std::vector<Row> rows = rows_of(outcome);
    ASSERT_EQ(rows.size(), expected.size());
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], expected[i]);
    EXPECT_EQ(outcome.profile.result_rows, static_cast<int64_t>(expected.size()));
  }
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
  const std::vector<Strings> rows = sorted_rows(outcome);
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
