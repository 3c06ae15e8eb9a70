// Every row goes to one partition, equal keys to the same, and the order of arrival stays.
#include <limits>
#include <map>

#include <gmock/gmock.h>

#include "operators/partition/row_numberer.hpp"
#include "operators/partition/table_partition.hpp"
#include "table/arrow_builder.hpp"

namespace crossdock::operators {
namespace {

using namespace arrow_test;

constexpr int64_t kRows = 300'000;  // so that four workers start

TablePtr table_of(int64_t rows, int64_t piece_rows, int64_t keys) {
  std::vector<Columns> batches;
  for (int64_t begin = 0; begin < rows; begin += piece_rows) {
    Optionals<int64_t> key;
    Optionals<int32_t> narrow;
    Optionals<int64_t> row;
    for (int64_t i = begin; i < std::min(rows, begin + piece_rows); ++i) {
      const int64_t value = i * 7919 % keys - keys / 3;
      key.push_back(i % 97 == 0 ? std::nullopt : std::optional<int64_t>(value));
      narrow.push_back(key.back() ? std::optional<int32_t>(static_cast<int32_t>(value))
                                  : std::nullopt);
      row.push_back(i);
    }
    batches.push_back({{"k", fixed<int64_t>("l", key)},
                       {"k32", fixed<int32_t>("i", narrow)},
                       {"row", fixed<int64_t>("l", row)}});
  }
  return make_table(std::move(batches));
}

struct Outcome {
  Status status;
  std::vector<Batch> batches;
  std::vector<int64_t> partition_rows;

  template <class T>
  std::vector<T> column(int index) const {
    std::vector<T> values;
    for (const Batch& batch : batches) {
      const T* data = batch.columns[index].data<T>();
      values.insert(values.end(), data, data + batch.rows);
    }
    return values;
  }
};

struct Setting {
  int threads = 4;
  std::shared_ptr<Memory> memory = Memory::create(int64_t{1} << 30);
  CancelFlag cancel{};
};

Outcome partition(const TablePtr& table, PartitionSpec spec, Setting& setting) {
  RunEnvironment environment{setting.memory, setting.threads, model::Machine{}, 0};
  auto operation = TablePartition::create(std::move(spec), table, environment);
  if (!operation.ok()) return {operation.error(), {}, {}};
  CollectSink sink(operation.value()->worker_count());
  RunProgress progress;
  RunProfile profile;
  Outcome outcome;
  outcome.status = operation.value()->run(sink, setting.cancel, progress, profile);
  outcome.batches = sink.take();
  outcome.partition_rows = operation.value()->partition_rows();
  return outcome;
}

PartitionSpec spec_of(PartitionBy by, int partitions, int key = 0) {
  PartitionSpec spec;
  spec.by = by;
  spec.partitions = partitions;
  spec.keys = {key};
  spec.output = {2, 0, 1};
  spec.batch_rows = 5'000;
  return spec;
}

// By partition, its rows in order.
std::vector<std::vector<int64_t>> parts_of(const Outcome& outcome) {
  const std::vector<int64_t> rows = outcome.column<int64_t>(0);
  std::vector<std::vector<int64_t>> parts;
  size_t at = 0;
  for (const int64_t count : outcome.partition_rows) {
    parts.emplace_back(rows.begin() + at, rows.begin() + at + count);
    at += count;
  }
  EXPECT_EQ(at, rows.size());
  return parts;
}

class PartitionConcurrent : public testing::TestWithParam<int> {};

TEST_P(PartitionConcurrent, HashKeepsEveryRowAndItsOrderAndEqualKeysTogether) {
  const TablePtr table = table_of(kRows, 70'001, 1'000);
  Setting setting;
  const Outcome outcome = partition(table, spec_of(PartitionBy::kHash, GetParam()), setting);
  ASSERT_TRUE(outcome.status.ok());
  const auto parts = parts_of(outcome);
  ASSERT_EQ(parts.size(), static_cast<size_t>(GetParam()));
  std::map<int64_t, size_t> home;  // of a key; the least integer stands for NULL
  int64_t rows = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    EXPECT_TRUE(std::is_sorted(parts[p].begin(), parts[p].end()));
    for (const int64_t row : parts[p]) {
      const int64_t key = row % 97 == 0 ? std::numeric_limits<int64_t>::min() : row * 7919 % 1'000;
      EXPECT_EQ(home.emplace(key, p).first->second, p);
      ++rows;
    }
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_EQ(home.size(), 1'001U);
}

TEST_P(PartitionConcurrent, HashDoesNotDependOnThreadsBatchesOrIntegerWidth) {
  Setting setting;
  const Outcome one =
      partition(table_of(kRows, kRows, 777), spec_of(PartitionBy::kHash, GetParam()), setting);
  Setting alone;
  alone.threads = 1;
  const Outcome other =
      partition(table_of(kRows, 999, 777), spec_of(PartitionBy::kHash, GetParam(), 1), alone);
  ASSERT_TRUE(one.status.ok() && other.status.ok());
  EXPECT_EQ(one.partition_rows, other.partition_rows);
  EXPECT_EQ(one.column<int64_t>(0), other.column<int64_t>(0));
}

TEST_P(PartitionConcurrent, RangesAscendAndAreEven) {
  Setting setting;
  const int partitions = GetParam();
  const Outcome outcome = partition(
      table_of(kRows, 50'000, 100'003), spec_of(PartitionBy::kRange, partitions), setting);
  ASSERT_TRUE(outcome.status.ok());
  int64_t last = std::numeric_limits<int64_t>::min();
  const auto parts = parts_of(outcome);
  const int64_t even = kRows / partitions;
  for (size_t p = 0; p < parts.size(); ++p) {
    int64_t low = std::numeric_limits<int64_t>::max();
    int64_t high = std::numeric_limits<int64_t>::min();
    for (const int64_t row : parts[p]) {
      // NULL keys come last, above every value.
      const int64_t key = row % 97 == 0 ? int64_t{1} << 40 : row * 7919 % 100'003;
      low = std::min(low, key);
      high = std::max(high, key);
    }
    EXPECT_GT(low, last);
    last = std::max(last, high);
    EXPECT_LT(static_cast<int64_t>(parts[p].size()), 2 * even + kRows / 97 + 64);
  }
}
INSTANTIATE_TEST_SUITE_P(Counts, PartitionConcurrent, testing::Values(1, 2, 3, 64, 1000));

TEST(Partition, ExplicitNumbersAreObeyedAndOthersRefused) {
  Optionals<int64_t> numbers;
  Optionals<int64_t> rows;
  for (int64_t i = 0; i < 1'000; ++i) {
    numbers.push_back(i % 5);
    rows.push_back(i);
  }
  const TablePtr table = make_table({{{"p", fixed<int64_t>("l", numbers)},
                                      {"x", strings("u", Optionals<std::string>(1'000, "text"))},
                                      {"row", fixed<int64_t>("l", rows)}}});
  Setting setting;
  PartitionSpec spec = spec_of(PartitionBy::kExplicit, 6);
  spec.output = {2};
  const Outcome outcome = partition(table, spec, setting);
  ASSERT_TRUE(outcome.status.ok());
  EXPECT_THAT(outcome.partition_rows, testing::ElementsAre(200, 200, 200, 200, 200, 0));
  const auto parts = parts_of(outcome);
  for (const int64_t row : parts[3]) EXPECT_EQ(row % 5, 3);

  spec.partitions = 4;
  const Outcome refused = partition(table, spec, setting);
  ASSERT_FALSE(refused.status.ok());
  EXPECT_EQ(refused.status.error().code, ErrorCode::kValueOutOfRange);
  EXPECT_THAT(refused.status.error().message, testing::HasSubstr("names partition 4"));
  spec.keys = {1};
  EXPECT_EQ(partition(table, spec, setting).status.error().code, ErrorCode::kUnsupportedType);
}

TEST(Partition, RequestsOutOfBoundsAreRefused) {
  Setting setting;
  const TablePtr table = table_of(10, 10, 3);
  for (const int partitions : {0, -1, kPartitionsMax + 1}) {
    EXPECT_EQ(
        partition(table, spec_of(PartitionBy::kHash, partitions), setting).status.error().code,
        ErrorCode::kInvalidArgument);
  }
  PartitionSpec keyless = spec_of(PartitionBy::kHash, 2);
  keyless.keys.clear();
  EXPECT_FALSE(partition(table, keyless, setting).status.ok());
}

TEST(Partition, AnEmptyTableHasEmptyPartitions) {
  Setting setting;
  const TablePtr empty = make_table({{{"k", fixed<int64_t>("l", {})},
                                      {"k32", fixed<int32_t>("i", {})},
                                      {"row", fixed<int64_t>("l", {})}}});
  for (const PartitionBy by : {PartitionBy::kHash, PartitionBy::kRange, PartitionBy::kExplicit}) {
    const Outcome outcome = partition(empty, spec_of(by, 3), setting);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
    EXPECT_THAT(outcome.partition_rows, testing::ElementsAre(0, 0, 0));
    EXPECT_THAT(outcome.batches, testing::IsEmpty());
  }
}

TEST(PartitionConcurrentLimits, MemoryThatIsNotThereIsAnErrorAndAllIsGivenBack) {
  const TablePtr table = table_of(kRows, 50'000, 1'000);
  Setting setting;
  setting.memory = Memory::create(int64_t{1} << 20);
  {
    const Outcome outcome = partition(table, spec_of(PartitionBy::kHash, 64), setting);
    ASSERT_FALSE(outcome.status.ok());
    EXPECT_EQ(outcome.status.error().code, ErrorCode::kOutOfMemoryBudget);
  }
  EXPECT_EQ(setting.memory->used_bytes(), 0);
}

TEST(PartitionConcurrentLimits, ACancelledRunEnds) {
  Setting setting;
  setting.cancel.set();
  const Outcome outcome =
      partition(table_of(kRows, 50'000, 1'000), spec_of(PartitionBy::kHash, 64), setting);
  ASSERT_FALSE(outcome.status.ok());
  EXPECT_EQ(outcome.status.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace crossdock::operators
