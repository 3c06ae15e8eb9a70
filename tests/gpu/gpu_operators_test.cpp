// Operators on a real GPU: what the tests of operators/device say of CPU threads, said of kernels, against plain maps.
#include <algorithm>
#include <map>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/device/cuda_calls.hpp"
#include "operators/device/cuda_runner.hpp"
#include "operators/device/device_gather.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/device_key_words.hpp"
#include "operators/device/device_keys.hpp"
#include "operators/device/device_partition.hpp"
#include "operators/device/host_runner.hpp"

namespace crossdock {
namespace {

using namespace operators::device_test;

constexpr uint64_t kManyRows = (uint64_t{1} << 20) + 77;

std::unique_ptr<operators::CudaRunner> open_runner() {
  return std::move(operators::CudaRunner::open(0).value());
}

template <class T>
operators::DeviceBuffer load(operators::DeviceRunner& runner, const std::vector<T>& values) {
  const uint64_t bytes = values.size() * sizeof(T);
  operators::DeviceBuffer buffer = std::move(operators::DeviceBuffer::make(runner, bytes).value());
  EXPECT_TRUE(runner.write(buffer.as<T>(), values.data(), bytes).ok());
  return buffer;
}

std::vector<uint64_t> words_of(operators::DeviceRunner& runner,
                               const uint64_t* from,
                               uint64_t count) {
  auto read = operators::read_values<uint64_t>(runner, from, count);
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read.ok() ? std::move(read.value()) : std::vector<uint64_t>(count);
}

std::vector<uint64_t> numbers_up_to(uint64_t rows) {
  std::vector<uint64_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(GpuOperators, rows_lie_by_partition_in_their_order) {
  const auto runner = open_runner();
  for (const std::vector<int64_t>& keys : {spread_keys(kManyRows, 1'000'000),
                                           heavy_keys(kManyRows, 1000),
                                           unique_keys(5000),
                                           std::vector<int64_t>(100'000, -1),
                                           std::vector<int64_t>{}}) {
    const operators::DeviceBuffer key = load(*runner, keys);
    std::vector<uint64_t> order = numbers_up_to(keys.size());
    const operators::DeviceBuffer number = load(*runner, order);
    std::vector<uint8_t> bytes(order.begin(), order.end());
    const operators::DeviceBuffer byte = load(*runner, bytes);
    const operators::PartitionRule rule{.mix = WordMix::from_seed(5), .ways = 256};
    const auto way = [&](uint64_t row) { return rule.number(static_cast<uint64_t>(keys[row])); };
    const auto partitions =
        operators::partition_on_device(*runner,
                                       {.key = {key.words(), 8},
                                        .columns = {{number.words(), 8}, {byte.as<uint8_t>(), 1}},
                                        .rows = keys.size(),
                                        .rule = rule});
    ASSERT_TRUE(partitions.ok()) << partitions.error().message;
    std::ranges::stable_sort(order, {}, way);
    EXPECT_EQ(words_of(*runner, partitions.value().columns[0].words(), keys.size()), order);
    for (uint64_t& row : order) row = uint8_t(row);
    EXPECT_EQ(
        operators::read_values<uint8_t>(*runner, partitions.value().columns[1].words(), keys.size())
            .value(),
        std::vector<uint8_t>(order.begin(), order.end()));
    EXPECT_EQ(words_of(*runner, partitions.value().offsets.words(), 257).back(), keys.size());
  }
}

using RowPairs = std::vector<std::pair<uint64_t, uint64_t>>;

RowPairs expected_pairs(const std::vector<int64_t>& build, const std::vector<int64_t>& probe) {
  std::map<int64_t, std::vector<uint64_t>> rows;
  for (uint64_t row = 0; row < build.size(); ++row) rows[build[row]].push_back(row);
  RowPairs pairs;
  for (uint64_t row = 0; row < probe.size(); ++row) {
    const auto same_key = rows.find(probe[row]);
    if (same_key == rows.end()) {
      pairs.emplace_back(row, operators::kNoRow);
      continue;
    }
    for (const uint64_t match : same_key->second) pairs.emplace_back(row, match);
  }
  return pairs;
}

RowPairs pairs_of(operators::DeviceRunner& runner, const operators::DeviceMatches& matches) {
  const auto probe = words_of(runner, matches.probe_rows.words(), matches.count);
  const auto build = words_of(runner, matches.build_rows.words(), matches.count);
  RowPairs pairs;
  for (uint64_t at = 0; at < matches.count; ++at) pairs.emplace_back(probe[at], build[at]);
  std::ranges::sort(pairs);
  return pairs;
}

void expect_joins(operators::DeviceRunner& runner,
                  const std::vector<int64_t>& build,
                  const std::vector<int64_t>& probe) {
  const operators::DeviceBuffer build_keys = load(runner, build);
  const operators::DeviceBuffer probe_keys = load(runner, probe);
  const operators::JoinRows build_rows{.keys = build_keys.words(), .count = build.size()};
  const operators::JoinRows probe_rows{.keys = probe_keys.words(), .count = probe.size()};
  const RowPairs expected = expected_pairs(build, probe);
  const auto without = static_cast<uint64_t>(std::ranges::count_if(
      expected, [](const auto& pair) { return pair.second == operators::kNoRow; }));
  for (const uint64_t above : {UINT64_MAX, uint64_t{1} << 16}) {  // as it is, and in pieces
    const auto table =
        operators::DeviceHashTable::build(runner, build_rows, {.partition_above_bytes = above});
    ASSERT_TRUE(table.ok()) << table.error().message;
    const auto matches = table.value().join(probe_rows, operators::DeviceJoinKind::kLeft);
    ASSERT_TRUE(matches.ok()) << matches.error().message;
    EXPECT_EQ(pairs_of(runner, matches.value()), expected);
    EXPECT_EQ(table.value().count(probe_rows, operators::DeviceJoinKind::kInner).value(),
              expected.size() - without);
    EXPECT_EQ(table.value().count(probe_rows, operators::DeviceJoinKind::kAnti).value(), without);
  }
  const auto sorted_build = operators::DeviceSortedSide::sort(runner, build_rows);
  const auto sorted_probe = operators::DeviceSortedSide::sort(runner, probe_rows);
  ASSERT_TRUE(sorted_build.ok() && sorted_probe.ok());
  const auto merged = operators::merge_on_device(
      runner, sorted_probe.value(), sorted_build.value(), operators::DeviceJoinKind::kLeft);
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ(pairs_of(runner, merged.value()), expected);
}

TEST(GpuOperators, joins_find_all_pairs) {
  const auto runner = open_runner();
  expect_joins(*runner, unique_keys(300'000), spread_keys(400'000, 600'000));
  expect_joins(*runner, spread_keys(300'000, 50'000), spread_keys(100'000, 70'000));
  expect_joins(*runner, heavy_keys(3000, 500), heavy_keys(1000, 700));
  expect_joins(*runner,
               std::vector<int64_t>(2000, static_cast<int64_t>(operators::kFreeKey)),
               {1, static_cast<int64_t>(operators::kFreeKey)});
  expect_joins(*runner, {}, unique_keys(100));
  expect_joins(*runner, unique_keys(100), {});
}

// A text, a number and a bool, with NULLs, in Arrow's layout.
struct KeyColumns {
  std::vector<int32_t> offsets = {0};
  std::vector<uint8_t> bytes, validity, bits;
  std::vector<int64_t> numbers;

  KeyColumns(uint64_t rows, uint64_t distinct, uint64_t seed)
      : validity(rows / 8 + 1), bits(rows / 8 + 1) {
    for (uint64_t row = 0; row < rows; ++row) {
      const uint64_t pick = next_random(seed) % distinct;
      for (uint64_t at = 0; at < pick % 23; ++at) bytes.push_back(static_cast<uint8_t>(pick >> at));
      offsets.push_back(static_cast<int32_t>(bytes.size()));
      numbers.push_back(static_cast<int64_t>(pick % 1000 * 0x9E3779B97F4A7C15U));
      if (pick % 11 != 0) validity[row / 8] |= static_cast<uint8_t>(1 << row % 8);
      if (pick % 3 == 0) bits[row / 8] |= static_cast<uint8_t>(1 << row % 8);
    }
  }
};

struct LoadedKeys {
  operators::DeviceBuffer offsets, bytes, validity, numbers, bits;
  operators::DeviceKeySpec spec;

  LoadedKeys(operators::DeviceRunner& runner, const KeyColumns& table)
      : offsets(load(runner, table.offsets)),
        bytes(load(runner, table.bytes)),
        validity(load(runner, table.validity)),
        numbers(load(runner, table.numbers)),
        bits(load(runner, table.bits)) {
    spec.rows = table.numbers.size();
    spec.columns = {{.stored = Stored::kBytes32,
                     .values = offsets.as<int32_t>(),
                     .bytes = bytes.as<uint8_t>(),
                     .validity = validity.as<uint8_t>()},
                    {.stored = Stored::kInt64, .values = numbers.words()},
                    {.stored = Stored::kBit, .values = bits.as<uint8_t>()}};
  }
};

struct KeyedJoin {
  RowPairs pairs;
  std::vector<int32_t> offsets;
  std::vector<uint8_t> bytes;
};

// The pairs of a full join, and the strings of the build side's rows in order of their numbers.
KeyedJoin join_by_keys(operators::DeviceRunner& runner,
                       const KeyColumns& build,
                       const KeyColumns& probe) {
  const LoadedKeys loaded_build(runner, build);
  const LoadedKeys loaded_probe(runner, probe);
  const operators::DeviceKeys keys =
      std::move(operators::DeviceKeys::make(runner, loaded_build.spec).value());
  const operators::DeviceKeyWords words = std::move(keys.match(loaded_probe.spec).value());
  const operators::DeviceHashTable table =
      std::move(operators::DeviceHashTable::build(runner, keys.rows()).value());
  KeyedJoin joined;
  joined.pairs = pairs_of(runner, table.join(words.rows, operators::DeviceJoinKind::kFull).value());
  std::vector<uint64_t> rows;
  for (const auto& [probe_row, build_row] : joined.pairs) rows.push_back(build_row);
  const operators::DeviceBuffer chosen = load(runner, rows);
  const operators::DeviceColumnData strings =
      std::move(operators::gather_column_on_device(runner,
                                                   {.from = loaded_build.spec.columns[0],
                                                    .rows = chosen.words(),
                                                    .count = rows.size(),
                                                    .can_miss = true})
                    .value());
  joined.offsets =
      operators::read_values<int32_t>(runner, strings.values.words(), rows.size() + 1).value();
  joined.bytes =
      operators::read_values<uint8_t>(runner, strings.bytes.words(), strings.text_bytes).value();
  return joined;
}

// Kernels find what the same source finds on CPU threads, which tests of operators/device compare with the CPU's join.
TEST(GpuOperators, joins_by_strings_and_several_columns_are_those_of_cpu_threads) {
  const auto runner = open_runner();
  operators::HostRunner host;
  const KeyColumns build(20'000, 9000, 1);
  const KeyColumns probe(30'000, 12'000, 2);
  const KeyedJoin expected = join_by_keys(host, build, probe);
  const KeyedJoin joined = join_by_keys(*runner, build, probe);
  EXPECT_EQ(joined.pairs, expected.pairs);
  EXPECT_EQ(joined.offsets, expected.offsets);
  EXPECT_EQ(joined.bytes, expected.bytes);
}

TEST(GpuOperators, groups_have_all_of_their_rows) {
  const auto runner = open_runner();
  for (const std::vector<int64_t>& keys :
       {spread_keys(kManyRows, 100),
        spread_keys(kManyRows, 200'000),
        unique_keys(300'000),
        heavy_keys(kManyRows, 3000),
        std::vector<int64_t>(50'000, static_cast<int64_t>(operators::kFreeKey))}) {
    std::vector<int64_t> values;
    std::map<int64_t, std::vector<int64_t>> expected;  // count, sum, min, max
    for (uint64_t row = 0; row < keys.size(); ++row) {
      const int64_t value = static_cast<int64_t>(row * 7919 % 1001) - 500;
      values.push_back(value);
      auto& group =
          expected.try_emplace(keys[row], std::vector<int64_t>{0, 0, value, value}).first->second;
      ++group[0];
      group[1] += value;
      group[2] = std::min(group[2], value);
      group[3] = std::max(group[3], value);
    }
    const operators::DeviceBuffer key = load(*runner, keys);
    const operators::DeviceBuffer value = load(*runner, values);
    for (const uint64_t above : {UINT64_MAX, uint64_t{1} << 16}) {
      operators::DeviceGroupSpec spec{
          .keys = key.words(), .rows = keys.size(), .partition_above_bytes = above};
      for (const auto aggregate : {operators::DeviceAggregate::kSum,
                                   operators::DeviceAggregate::kMin,
                                   operators::DeviceAggregate::kMax})
        spec.aggregates.push_back({aggregate, value.as<int64_t>()});
      const auto grouped = operators::group_on_device(*runner, spec);
      ASSERT_TRUE(grouped.ok()) << grouped.error().message;
      const operators::DeviceGroups& groups = grouped.value();
      ASSERT_EQ(groups.groups, expected.size());
      const auto keys_read = words_of(*runner, groups.keys(), groups.groups);
      std::vector<std::vector<uint64_t>> columns = {
          words_of(*runner, groups.counts(), groups.groups)};
      for (const uint32_t word : groups.first_word)
        columns.push_back(words_of(*runner, groups.column(word), groups.groups));
      for (uint64_t group = 0; group < groups.groups; ++group) {
        const auto at = expected.find(static_cast<int64_t>(keys_read[group]));
        ASSERT_NE(at, expected.end());
        for (size_t column = 0; column < columns.size(); ++column)
          ASSERT_EQ(static_cast<int64_t>(columns[column][group]), at->second[column]);
      }
    }
  }
}

// The driver keeps some for kernels.
constexpr uint64_t kDriverBytes = uint64_t{64} << 20;

TEST(GpuOperators, memory_that_is_not_there_is_an_error_and_comes_back) {
  const auto runner = open_runner();
  device::cuda_calls::GpuFacts before, after;
  ASSERT_EQ(device::cuda_calls::open_gpu(0, &before), 0);
  const uint64_t rows =
      before.free_bytes / 24;  // two columns of these do not fit, a key alone does
  {
    const auto key = operators::DeviceBuffer::words(*runner, rows);
    ASSERT_TRUE(key.ok()) << key.error().message;
    const auto refused = operators::partition_on_device(
        *runner,
        {.key = {key.value().words(), 8},
         .columns = {{key.value().words(), 8}, {key.value().words(), 8}, {key.value().words(), 8}},
         .rows = rows,
         .rule = {.ways = 2}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemoryBudget);
  }
  runner->give_back();
  ASSERT_EQ(device::cuda_calls::open_gpu(0, &after), 0);
  EXPECT_GE(after.free_bytes + kDriverBytes, before.free_bytes);
}

}  // namespace
}  // namespace crossdock
