// Sorts of several workers over many ranges: every strategy, skewed keys, small budgets, cancelled runs.
// The thread sanitizer runs these.
#include <algorithm>
#include <functional>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "operators/sort/sorting.hpp"

namespace crossdock::operators {
namespace {

using namespace arrow_test;

constexpr int64_t kRows = 140'000;  // two workers, four ranges
constexpr int kWorkers = 2;

enum class Shape { kSpread, kFew, kSkewed, kExponential };

int64_t key_of(Shape shape, std::mt19937_64& random) {
  switch (shape) {
    case Shape::kSpread:
      return static_cast<int64_t>(random());
    case Shape::kFew:
      return static_cast<int64_t>(random() % 2);
    case Shape::kSkewed:
      return random() % 3 == 0 ? static_cast<int64_t>(random()) : 42;
    case Shape::kExponential:
      return static_cast<int64_t>(random() >> random() % 64);
  }
  return 0;
}

SortCase integers_and_text(Shape shape) {
  std::mt19937_64 random(3);
  SortCase sorted;
  Optionals<int64_t> keys;
  Optionals<int16_t> small;
  Optionals<std::string> names;
  OrderedColumn key_column{"k", {}, {}};
  OrderedColumn text_column{"s", {}, {}};
  OrderedColumn small_column{"v", {}, std::vector<std::optional<PlainKey>>(kRows)};
  keys.reserve(kRows);
  names.reserve(kRows);
  small.reserve(kRows);
  key_column.keys.reserve(kRows);
  text_column.keys.reserve(kRows);
  for (int64_t i = 0; i < kRows; ++i) {
    const int64_t key = key_of(shape, random);
    keys.push_back(key);
    key_column.keys.push_back(PlainKey{.number = key});
    names.push_back("a shared beginning/" + std::to_string(key % 1000) + "/and a shared middle/" +
                    std::to_string(random() % 100));
    text_column.keys.push_back(PlainKey{.text = *names.back()});
    small.push_back(i % 9 == 0 ? std::nullopt : std::optional<int16_t>(static_cast<int16_t>(i)));
  }
  key_column.array = fixed<int64_t>("l", keys);
  text_column.array = strings("u", names);
  small_column.array = fixed<int16_t>("s", small);
  for (OrderedColumn* column : {&key_column, &text_column, &small_column}) {
    sorted.columns.push_back(std::move(*column));  // a list of them would copy every text twice
  }
  sorted.keys = {{0, false, false}};
  sorted.cuts = {1000, 80'000};
  return sorted;
}

SortSpec keys_only(const SortCase& sorted) {
  SortSpec spec = spec_of(sorted);
  spec.output.resize(1);
  return spec;
}

TEST(TableSortConcurrent, EveryStrategyOverManyRanges) {
  for (const Shape shape : {Shape::kSkewed, Shape::kExponential}) {
    const SortCase sorted = integers_and_text(shape);
    const TablePtr table = table_of(sorted);
    const std::vector<int64_t> expected = expected_order(sorted);
    for (const SortStrategy strategy :
         {SortStrategy::kMsd, SortStrategy::kLsd, SortStrategy::kTopK}) {
      SortSpec spec = spec_of(sorted);
      spec.strategy = strategy;
      spec.limit = strategy == SortStrategy::kTopK ? 1000 : -1;
      spec.offset = strategy == SortStrategy::kTopK ? 50 : 0;
      const auto result = run_sort(spec, table, kWorkers);
      ASSERT_TRUE(result.ok()) << result.error().message;
      const std::vector<int64_t> expected_rows(
          expected.begin() + spec.offset,
          spec.limit < 0 ? expected.end() : expected.begin() + spec.offset + spec.limit);
      ASSERT_EQ(result.value().rows, expected_rows) << sort_strategy_name(strategy);
      if (shape == Shape::kSkewed) expect_values(table, spec, result.value());
    }
  }
}

TEST(TableSortConcurrent, KeysAloneAndKeysWithOneValue) {
  const SortCase sorted = integers_and_text(Shape::kExponential);
  const TablePtr table = table_of(sorted);
  const std::vector<int64_t> expected = expected_order(sorted);
  SortSpec spec = keys_only(sorted);
  spec.row_index.clear();
  auto alone = run_sort(spec, table, kWorkers);
  alone.value().rows = expected;
  expect_values(table, spec, alone.value());
  spec.output.push_back({2, "v"});
  auto with_value = run_sort(spec, table, kWorkers);
  with_value.value().rows = expected;
  expect_values(table, spec, with_value.value());
}

// One column of keys, which the result consists of, and the order they should come in.
struct Words {
  TablePtr table;
  Optionals<int64_t> in_order;
};

Words words_of(const std::function<int64_t(int64_t row, std::mt19937_64&)>& key_at) {
  constexpr int64_t kManyRows = 400'000;  // enough for ranges sized by a sample
  std::mt19937_64 random(5);
  SortCase sorted;
  Words words;
  for (int64_t i = 0; i < kManyRows; ++i) words.in_order.push_back(key_at(i, random));
  sorted.columns = {
      {"k", fixed<int64_t>("l", words.in_order), std::vector<std::optional<PlainKey>>(kManyRows)}};
  sorted.cuts = {70'001, 70'003};
  words.table = table_of(sorted);
  std::sort(words.in_order.begin(), words.in_order.end());
  return words;
}

// The result of a sort of the words alone is [offset, offset + limit) of their order.
RunProfile expect_words(const Words& words, int64_t offset, int64_t limit) {
  SortSpec spec;
  spec.keys = {{0, false, false}};
  spec.output = {{0, "k"}};
  spec.offset = offset;
  spec.limit = limit;
  spec.strategy = SortStrategy::kMsd;
  const auto result = run_sort(spec, words.table, kWorkers);
  EXPECT_TRUE(result.ok());
  auto expected = words.in_order.begin() + offset;
  for (const Batch& batch : result.value().batches) {
    const auto* values = reinterpret_cast<const int64_t*>(batch.columns[0].values);
    const auto* first = values + batch.columns[0].offset;
    EXPECT_TRUE(std::equal(first, first + batch.rows, expected))
        << expected - words.in_order.begin();
    expected += batch.rows;
  }
  const auto all = static_cast<int64_t>(words.in_order.size());
  EXPECT_EQ(expected - words.in_order.begin(), limit < 0 ? all : offset + limit);
  return result.value().profile;
}

TEST(TableSortConcurrent, WordsAloneGoToRangesSizedByASample) {
  const Words even = words_of([](int64_t, auto& random) { return static_cast<int64_t>(random()); });
  const Words uneven = words_of(
      [](int64_t, auto& random) { return static_cast<int64_t>(random() >> random() % 20); });
  for (const Words* words : {&even, &uneven}) {
    const RunProfile whole = expect_words(*words, 0, -1);
    EXPECT_EQ(fact_text(whole.facts, "ranges_sized"), "by a sample");
    expect_words(*words, 150'001, 120'000);
  }
}

TEST(TableSortConcurrent, CountsRangesWhereASampleDeceived) {
  // Rows of one range lie together, for as long as the sample looks at once: ranges whose rows it
  // happened to miss have more than it says.
  uint64_t place = 0;
  const Words clustered = words_of([&place](int64_t row, auto& random) {
    if (row % 256 == 0) place = std::mt19937_64(static_cast<uint64_t>(row / 256))() & ~0xFFFFFU;
    return static_cast<int64_t>(place | (random() & 0xFFFFFU));
  });
  const RunProfile profile = expect_words(clustered, 0, -1);
  EXPECT_EQ(fact_text(profile.facts, "ranges_sized"), "by counting: a sample deceived");
}

TEST(TableSortConcurrent, FewKeysAloneAreOnlyCounted) {
  const SortCase sorted = integers_and_text(Shape::kFew);
  const TablePtr table = table_of(sorted);
  SortSpec spec = keys_only(sorted);
  spec.row_index.clear();
  auto alone = run_sort(spec, table, kWorkers);
  EXPECT_EQ(fact_number(alone.value().profile.facts, "passes"), 0);
  alone.value().rows = expected_order(sorted);
  expect_values(table, spec, alone.value());
}

TEST(TableSortConcurrent, TextOverManyRanges) {
  SortCase sorted = integers_and_text(Shape::kSpread);
  std::swap(sorted.columns[0], sorted.columns[1]);
  const TablePtr table = table_of(sorted);
  const std::vector<int64_t> expected = expected_order(sorted);
  for (const bool only_key : {true, false}) {
    const SortSpec spec = only_key ? keys_only(sorted) : spec_of(sorted);
    const auto result = run_sort(spec, table, kWorkers);
    ASSERT_TRUE(result.ok()) << result.error().message;
    ASSERT_EQ(result.value().rows, expected);
    expect_values(table, spec, result.value());
  }
}

TEST(TableSortConcurrent, TheNumberOfThreadsChangesNothing) {
  const SortCase sorted = integers_and_text(Shape::kSkewed);
  const TablePtr table = table_of(sorted);
  const std::vector<int64_t> expected = expected_order(sorted);
  for (const int threads : {1, 2}) {
    ASSERT_EQ(run_sort(keys_only(sorted), table, threads).value().rows, expected);
  }
}

TEST(TableSortConcurrent, RowsInOrderOrTheOpposite) {
  SortCase sorted = integers_and_text(Shape::kSpread);
  Optionals<int64_t> keys;
  for (int64_t i = 0; i < kRows; ++i) {
    keys.push_back(i * 3);
    sorted.columns[0].keys[i] = PlainKey{.number = i * 3};
  }
  sorted.columns[0].array = fixed<int64_t>("l", keys);
  const TablePtr table = table_of(sorted);
  for (const bool descending : {false, true}) {
    sorted.keys[0].descending = descending;
    SortSpec spec = spec_of(sorted);
    const auto result = run_sort(spec, table, kWorkers);
    EXPECT_EQ(fact_text(result.value().profile.facts, "strategy"),
              descending ? "reversed" : "presorted");
    ASSERT_EQ(result.value().rows, expected_order(sorted));
  }
}

TEST(TableSortConcurrent, GivesEverythingBackWhenTheBudgetEnds) {
  const SortCase sorted = integers_and_text(Shape::kSpread);
  const TablePtr table = table_of(sorted);
  for (const SortStrategy strategy :
       {SortStrategy::kMsd, SortStrategy::kLsd, SortStrategy::kTopK}) {
    int refused = 0;
    for (int64_t budget = 1 << 16; budget < (int64_t{1} << 26); budget = budget * 3 / 2) {
      SortSpec spec = spec_of(sorted);
      spec.strategy = strategy;
      spec.limit = strategy == SortStrategy::kTopK ? 100'000 : -1;
      RunEnvironment environment;
      environment.memory = Memory::create(budget);
      environment.threads = kWorkers;
      const auto sort = TableSort::create(spec, table, environment);
      CollectSink sink(kWorkers);
      const CancelFlag cancel;
      RunProgress progress;
      RunProfile profile;
      const Status status = sort.value()->run(sink, cancel, progress, profile);
      (void)sink.take();
      EXPECT_EQ(environment.memory->used_bytes(), 0) << budget;
      if (status.ok()) continue;
      ++refused;
      EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemoryBudget);
      EXPECT_EQ(status.error().message.find("sort: "), 0U) << status.error().message;
    }
    EXPECT_GT(refused, 3);
  }
}

// Cancels from within the sink, after some batches.
class CancellingSink : public RowSink {
 public:
  CancellingSink(CancelFlag& cancel, int after) : cancel_(&cancel), after_(after) {}
  Status accept(int, Batch) override {
    if (--after_ == 0) cancel_->set();
    return {};
  }

 private:
  CancelFlag* cancel_;
  int after_;
};

TEST(TableSortConcurrent, EndsSoonWhenCancelled) {
  const SortCase sorted = integers_and_text(Shape::kSpread);
  const TablePtr table = table_of(sorted);
  for (const SortStrategy strategy : {SortStrategy::kMsd, SortStrategy::kLsd}) {
    SortSpec spec = spec_of(sorted);
    spec.strategy = strategy;
    spec.batch_rows = 1000;
    RunEnvironment environment;
    environment.memory = Memory::create(int64_t{1} << 30);
    environment.threads = kWorkers;
    const auto sort = TableSort::create(spec, table, environment);
    CancelFlag cancel;
    CancellingSink sink(cancel, 2);
    RunProgress progress;
    RunProfile profile;
    const Status status = sort.value()->run(sink, cancel, progress, profile);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(environment.memory->used_bytes(), 0);
  }
}

}  // namespace
}  // namespace crossdock::operators
