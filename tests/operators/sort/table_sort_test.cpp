// Every strategy gives the rows in the order of plain keys, whatever the types, and says what it did.
#include "operators/sort/table_sort.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/long_run.hpp"
#include "operators/sort/sorting.hpp"

namespace crossdock::operators {
namespace {

using namespace arrow_test;

SortCase random_case(uint64_t seed, int64_t rows) {
  Random random(seed);
  const auto all = ordered_columns(rows, seed % 3 == 0 ? 0.0 : 0.15, random);
  SortCase sorted;
  const uint64_t keys = 1 + random() % 3;
  for (uint64_t i = 0; i < keys + random() % 3; ++i) {
    sorted.columns.push_back(all[random() % all.size()]);
  }
  for (uint64_t i = 0; i < keys; ++i) {
    sorted.keys.push_back({static_cast<int>(i), (random() & 1) != 0, (random() & 1) != 0});
  }
  if (rows > 0 && seed % 2 == 0) sorted.cuts = {rows / 4, rows / 4, rows / 2};
  return sorted;
}

TEST(TableSort, SortsEveryTypeAsEveryKey) {
  for (const double nulls : {0.0, 0.2, 1.0}) {
    Random random(11);
    for (const OrderedColumn& column : ordered_columns(600, nulls, random)) {
      for (const bool descending : {false, true}) {
        const SortCase sorted{{column}, {{0, descending, descending}}, {100}};
        const TablePtr table = table_of(sorted);
        SortSpec spec = spec_of(sorted);
        const auto result = run_sort(spec, table, 1);
        ASSERT_TRUE(result.ok()) << result.error().message;
        ASSERT_EQ(result.value().rows, expected_order(sorted)) << column.name;
        expect_values(table, spec, result.value());
        // Without the row's position, values may come from the words alone.
        spec.row_index.clear();
        auto values = run_sort(spec, table, 1);
        ASSERT_TRUE(values.ok());
        values.value().rows = result.value().rows;
        expect_values(table, spec, values.value());
      }
    }
  }
}

TEST(TableSort, EveryStrategySortsSeveralKeys) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const SortCase sorted = random_case(seed, seed % 5 == 0 ? static_cast<int64_t>(seed) / 5 : 800);
    const TablePtr table = table_of(sorted);
    const std::vector<int64_t> expected = expected_order(sorted);
    for (const SortStrategy strategy :
         {SortStrategy::kAuto, SortStrategy::kMsd, SortStrategy::kLsd, SortStrategy::kTopK}) {
      SortSpec spec = spec_of(sorted);
      spec.strategy = strategy;
      spec.digit_bits = 1 + static_cast<int>(seed % 13);
      spec.batch_rows = seed % 4 == 0 ? 0 : 97;
      if (strategy == SortStrategy::kTopK) spec.limit = INT64_MAX;
      const auto result = run_sort(spec, table, 1);
      ASSERT_TRUE(result.ok()) << result.error().message;
      ASSERT_EQ(result.value().rows, expected) << seed << " " << sort_strategy_name(strategy);
      expect_values(table, spec, result.value());
    }
  }
}

TEST(TableSort, LimitsAndOffsetsCutTheOrder) {
  for (uint64_t seed = 0; seed < share_of_long_run(10, 30); ++seed) {
    const SortCase sorted = random_case(seed, 500);
    const TablePtr table = table_of(sorted);
    const std::vector<int64_t> all = expected_order(sorted);
    for (const int64_t limit : {0, 1, 7, 499, 500, 10'000}) {
      for (const int64_t offset : {0, 3, 499, 500, 501}) {
        for (const SortStrategy strategy :
             {SortStrategy::kAuto, SortStrategy::kMsd, SortStrategy::kLsd, SortStrategy::kTopK}) {
          SortSpec spec = spec_of(sorted);
          spec.limit = limit;
          spec.offset = offset;
          spec.strategy = strategy;
          const int64_t first = std::min<int64_t>(offset, 500);
          const int64_t end = std::min<int64_t>(500, first + limit);
          const auto result = run_sort(spec, table, 1);
          ASSERT_TRUE(result.ok()) << result.error().message;
          ASSERT_EQ(result.value().rows,
                    std::vector<int64_t>(all.begin() + first, all.begin() + end));
          ASSERT_EQ(result.value().profile.result_rows, end - first);
        }
      }
    }
  }
}

SortCase integers_case(const std::vector<int64_t>& values, bool descending) {
  SortCase sorted;
  Optionals<int64_t> keys(values.begin(), values.end());
  sorted.columns.push_back({"k", fixed<int64_t>("l", keys), {}});
  for (const int64_t value : values) sorted.columns[0].keys.push_back(PlainKey{.number = value});
  sorted.keys = {{0, descending, false}};
  sorted.cuts = {static_cast<int64_t>(values.size()) / 3};
  return sorted;
}

std::vector<int64_t> counted(int64_t rows, int64_t step) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < rows; ++i) values.push_back(i / step);
  return values;
}

TEST(TableSort, PassesRowsThroughThatAreInOrder) {
  const SortCase sorted = integers_case(counted(5000, 3), false);
  const TablePtr table = table_of(sorted);
  SortSpec spec = spec_of(sorted);
  spec.row_index.clear();
  const auto result = run_sort(spec, table, 1);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(fact_text(result.value().profile.facts, "strategy"), "presorted");
  EXPECT_EQ(result.value().batches[0].columns[0].values, table->batches[0].columns[0].values);
  spec.row_index = "row";
  spec.limit = 100;
  spec.offset = 1600;
  spec.strategy = SortStrategy::kPresorted;
  const auto limited = run_sort(spec, table, 1);
  ASSERT_EQ(limited.value().rows.size(), 100U);
  EXPECT_EQ(limited.value().rows[0], 1600);
}

TEST(TableSort, TurnsRowsAroundThatAreInTheOppositeOrder) {
  const SortCase strict = integers_case(counted(5000, 1), true);
  auto result = run_sort(spec_of(strict), table_of(strict), 1);
  EXPECT_EQ(fact_text(result.value().profile.facts, "strategy"), "reversed");
  EXPECT_EQ(result.value().rows, expected_order(strict));
  // Equal keys would change places: a stable sort must not.
  const SortCase equal = integers_case(counted(5000, 2), true);
  result = run_sort(spec_of(equal), table_of(equal), 1);
  EXPECT_NE(fact_text(result.value().profile.facts, "strategy"), "reversed");
  EXPECT_EQ(result.value().rows, expected_order(equal));
  SortSpec unstable = spec_of(equal);
  unstable.stable = false;
  result = run_sort(unstable, table_of(equal), 1);
  EXPECT_EQ(fact_text(result.value().profile.facts, "strategy"), "reversed");
}

TEST(TableSort, FindsTheRowThatIsNotInOrder) {
  for (const int64_t place : {1, 1600, 1667, 4999}) {
    std::vector<int64_t> values = counted(5000, 1);
    values[place] = -5;
    const SortCase sorted = integers_case(values, false);
    SortSpec spec = spec_of(sorted);
    const auto result = run_sort(spec, table_of(sorted), 1);
    ASSERT_EQ(result.value().rows, expected_order(sorted));
    spec.strategy = SortStrategy::kPresorted;
    const auto declared = run_sort(spec, table_of(sorted), 1);
    ASSERT_FALSE(declared.ok());
    EXPECT_EQ(declared.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(TableSort, CountsThePassesOfTheLsdSort) {
  // 13 bits: four digits of 4, the words' bits 8 to 11 the same in all of them.
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 3000; ++i) values.push_back((i * 7 % 256) | (i % 2) << 12);
  const SortCase sorted = integers_case(values, false);
  SortSpec spec = spec_of(sorted);
  spec.strategy = SortStrategy::kLsd;
  spec.digit_bits = 4;
  const auto result = run_sort(spec, table_of(sorted), 1);
  ASSERT_EQ(result.value().rows, expected_order(sorted));
  const Facts& facts = result.value().profile.facts;
  EXPECT_EQ(fact_number(facts, "passes"), 3);
  EXPECT_EQ(fact_number(facts, "passes_skipped"), 1);
  EXPECT_EQ(fact_number(facts, "buckets"), 16);
  EXPECT_EQ(fact_number(facts, "counts_exchanged"), 4 * 16);
}

TEST(TableSort, LongStringsAndZeroBytes) {
  Random random(5);
  std::vector<std::string> pool = {"", std::string(1, '\0'), std::string(65'536, 'x')};
  pool.push_back(pool[2] + "a");
  pool.push_back(pool[2].substr(0, 65'535) + "a");
  for (int i = 0; i < 20; ++i) pool.push_back(std::string(static_cast<size_t>(i), '\0'));
  SortCase sorted;
  Optionals<std::string> values;
  for (int i = 0; i < 300; ++i) values.push_back(pool[random() % pool.size()]);
  sorted.columns.push_back({"s", strings("u", values), {}});
  for (const auto& value : values) sorted.columns[0].keys.push_back(PlainKey{.text = *value});
  sorted.keys = {{0, false, false}};
  for (const SortStrategy strategy : {SortStrategy::kMsd, SortStrategy::kLsd}) {
    SortSpec spec = spec_of(sorted);
    spec.strategy = strategy;
    const auto result = run_sort(spec, table_of(sorted), 1);
    ASSERT_EQ(result.value().rows, expected_order(sorted));
  }
}

TEST(TableSort, CountsWithoutSorting) {
  const SortCase sorted = integers_case({3, 1, 2}, false);
  SortSpec spec = spec_of(sorted);
  spec.offset = 1;
  RunEnvironment environment;
  environment.memory = Memory::create(1 << 20);
  const auto sort = TableSort::create(spec, table_of(sorted), environment);
  CountSink sink;
  const CancelFlag cancel;
  RunProgress progress;
  RunProfile profile;
  ASSERT_TRUE(sort.value()->run(sink, cancel, progress, profile).ok());
  EXPECT_EQ(profile.result_rows, 2);
  EXPECT_TRUE(profile.phases.empty());
}

TEST(TableSort, SaysWhatIsWrongWithARequest) {
  const SortCase sorted = integers_case({3, 1, 2}, false);
  const TablePtr table = table_of(sorted);
  const auto error_of = [&](const std::function<void(SortSpec&)>& change) {
    SortSpec spec = spec_of(sorted);
    change(spec);
    const auto result = run_sort(spec, table, 1);
    return result.ok() ? Error{} : result.error();
  };
  EXPECT_EQ(error_of([](SortSpec& spec) { spec.keys.clear(); }).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([](SortSpec& spec) { spec.limit = -2; }).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([](SortSpec& spec) { spec.offset = -1; }).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([](SortSpec& spec) { spec.digit_bits = 17; }).code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([](SortSpec& spec) { spec.strategy = SortStrategy::kTopK; }).code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([](SortSpec& spec) { spec.row_index = "c0"; }).code,
            ErrorCode::kDuplicateColumn);
  EXPECT_EQ(parse_sort_strategy("top").error().message,
            "sort strategy is 'top', but must be one of auto, presorted, msd, lsd, topk\n"
            "  did you mean 'topk'?");
}

TEST(TableSort, TellsItsPlan) {
  const SortCase sorted = integers_case({3, 1, 2}, false);
  SortSpec spec = spec_of(sorted);
  spec.limit = 1;
  RunEnvironment environment;
  environment.memory = Memory::create(1 << 20);
  const auto sort = TableSort::create(spec, table_of(sorted), environment);
  const OperatorPlan plan = sort.value()->describe();
  EXPECT_EQ(plan.name, "sort");
  EXPECT_EQ(fact_text(plan.facts, "key_form"), "exact words");
  EXPECT_FALSE(fact_text(plan.facts, "strategy_reason").empty());
  EXPECT_EQ(plan.considered.size(), 3U);
}

}  // namespace
}  // namespace crossdock::operators
