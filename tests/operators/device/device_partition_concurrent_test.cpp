// Partitions on a device: rows come back in the order of their partitions and of arrival, whatever threads run the
// kernels, and as the CPU's operator orders them.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <sys/mman.h>

#include <gmock/gmock.h>

#include "operators/device/device_partition.hpp"
#include "operators/device/host_runner.hpp"
#include "operators/device/tried_runners.hpp"
#include "operators/partition/row_numberer.hpp"
#include "operators/partition/table_partition.hpp"
#include "table/arrow_builder.hpp"

namespace crossdock::operators {
namespace {

using ::testing::ElementsAreArray;

constexpr uint64_t kTile = kPartitionTileRows;

PartitionRule by_hash(uint32_t ways) {
  return {.mix = WordMix::from_seed(kPartitionSeed), .ways = ways};
}

std::vector<int64_t> keys_of(uint64_t rows, uint64_t distinct) {
  std::vector<int64_t> keys(rows);
  uint64_t state = rows;
  for (int64_t& key : keys) key = static_cast<int64_t>(next_random(state) % distinct) - 40;
  return keys;
}

std::vector<int64_t> special_keys() {
  using Limits = std::numeric_limits<int64_t>;
  std::vector<int64_t> keys;
  for (int repeat = 0; repeat < 700; ++repeat) {
    for (const int64_t key : {int64_t{0},
                              int64_t{-1},
                              int64_t{1},
                              Limits::min(),
                              Limits::max(),
                              int64_t{1} << 32,
                              static_cast<int64_t>(0x5BF03635AFF4A3C1U)})
      keys.push_back(key);
  }
  return keys;
}

// Lanes of all widths, each of which tells the row.
struct Lanes {
  std::vector<uint64_t> numbers;
  std::vector<uint32_t> words;
  std::vector<uint16_t> halves;
  std::vector<uint8_t> bytes;

  explicit Lanes(uint64_t rows) : numbers(rows) {
    std::iota(numbers.begin(), numbers.end(), 0);
    for (const uint64_t row : numbers) {
      words.push_back(static_cast<uint32_t>(row * 3));
      halves.push_back(static_cast<uint16_t>(row * 5));
      bytes.push_back(static_cast<uint8_t>(row * 7));
    }
  }
};

template <class T>
std::vector<T> in_order(const std::vector<T>& values, const std::vector<uint64_t>& order) {
  std::vector<T> ordered;
  for (const uint64_t row : order) ordered.push_back(values[row]);
  return ordered;
}

struct Band {  // of keys that go anywhere
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
};

template <class Key>
void expect_partitions(DeviceRunner& runner,
                       const std::vector<Key>& keys,
                       PartitionRule rule,
                       Band band = {}) {
  const Lanes lanes(keys.size());
  const auto number = [&](uint64_t row) {
    return rule.number(static_cast<uint64_t>(int64_t{keys[row]}));
  };
  std::vector<uint64_t> order = lanes.numbers;
  std::erase_if(order, [&](uint64_t row) { return keys[row] < band.low || keys[row] > band.high; });
  std::ranges::stable_sort(order, {}, number);
  std::vector<uint64_t> offsets(rule.ways + 1, order.size());
  for (uint32_t way = 0; way < rule.ways; ++way) {
    offsets[way] = static_cast<uint64_t>(
        std::ranges::count_if(order, [&](uint64_t row) { return number(row) < way; }));
  }

  DeviceBuffer key = load(runner, keys);
  const DeviceBuffer from[] = {load(runner, lanes.numbers),
                               load(runner, lanes.words),
                               load(runner, lanes.halves),
                               load(runner, lanes.bytes)};
  const auto partitioned =
      partition_on_device(runner,
                          {.key = {key.as<Key>(), sizeof(Key)},
                           .columns = {{key.as<Key>(), sizeof(Key)},
                                       {from[0].as<uint64_t>(), 8},
                                       {from[1].as<uint32_t>(), 4},
                                       {from[2].as<uint16_t>(), 2},
                                       {from[3].as<uint8_t>(), 1}},
                           .rows = keys.size(),
                           .rule = rule,
                           .filter = {band.low == INT64_MIN ? nullptr : key.as<Key>(), sizeof(Key)},
                           .low = band.low,
                           .high = band.high});
  ASSERT_TRUE(partitioned.ok()) << partitioned.error().message;
  const DevicePartitions& parts = partitioned.value();
  EXPECT_EQ(values_of<uint64_t>(runner, parts.offsets, offsets.size()), offsets);
  EXPECT_EQ(values_of<Key>(runner, parts.columns[0], order.size()), in_order(keys, order));
  EXPECT_EQ(values_of<uint64_t>(runner, parts.columns[1], order.size()), order);
  EXPECT_EQ(values_of<uint32_t>(runner, parts.columns[2], order.size()),
            in_order(lanes.words, order));
  EXPECT_EQ(values_of<uint16_t>(runner, parts.columns[3], order.size()),
            in_order(lanes.halves, order));
  EXPECT_EQ(values_of<uint8_t>(runner, parts.columns[4], order.size()),
            in_order(lanes.bytes, order));
}

class DevicePartitionConcurrent : public ::testing::TestWithParam<TriedRunner> {};

INSTANTIATE_TEST_SUITE_P(Shapes, DevicePartitionConcurrent, ::testing::ValuesIn(tried_runners()));

TEST_P(DevicePartitionConcurrent, rows_lie_by_partition_in_their_order) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  if (GetParam().share >
      1) {  // barriers take long: one table that has all, and warps of more lanes
    HostRunner wide({.blocks = 2, .threads = 8, .lanes = 4});
    expect_partitions(wide, keys_of(2 * kTile + 17, 1000), by_hash(256));
    expect_partitions(wide, keys_of(kTile + 3, 1), by_hash(3));
    expect_partitions(runner, special_keys(), by_hash(255), {-1, 1});
    return;
  }
  for (const uint64_t rows : {uint64_t{0}, uint64_t{1}, kTile - 1, kTile, 5 * kTile + 17})
    expect_partitions(runner, keys_of(rows, 1000), by_hash(256));
  for (const uint32_t ways : {1U, 2U, 3U, 255U})
    expect_partitions(runner, keys_of(2 * kTile + 3, 90'000), by_hash(ways));
  expect_partitions(runner, keys_of(2 * kTile + 3, 1), by_hash(256));
  expect_partitions(runner, special_keys(), by_hash(256));
  PartitionRule digit{.ways = 64, .is_digit = true, .shift = 3};
  expect_partitions(runner, keys_of(3 * kTile, 1 << 20), digit);
  digit.shift = 58;
  expect_partitions(runner, special_keys(), digit);
  std::vector<int32_t> narrow;
  for (const int64_t key : keys_of(kTile + 5, 300)) narrow.push_back(static_cast<int32_t>(key));
  expect_partitions(runner, narrow, by_hash(31));
  expect_partitions(runner, narrow, by_hash(31), {-3, 100});
  for (const Band band : {Band{0, 500}, Band{-40, 10'000}, Band{7, 7}, Band{2000, INT64_MAX}})
    expect_partitions(runner, keys_of(3 * kTile + 100, 1000), by_hash(256), band);
}

TEST_P(DevicePartitionConcurrent, the_cpu_orders_them_alike) {
  using namespace arrow_test;
  const std::vector<int64_t> keys = keys_of(3 * kTile + 50, 700);
  std::vector<uint64_t> rows(keys.size());
  std::iota(rows.begin(), rows.end(), 0);
  Optionals<int64_t> key_cells(keys.begin(), keys.end());
  Optionals<int64_t> row_cells(rows.begin(), rows.end());
  PartitionSpec spec;
  spec.partitions = 200;
  spec.keys = {0};
  spec.output = {1};
  const RunEnvironment environment{Memory::create(int64_t{1} << 30), 4, model::Machine{}, 0};
  const auto cpu = TablePartition::create(spec,
                                          make_table({{{"k", fixed<int64_t>("l", key_cells)},
                                                       {"row", fixed<int64_t>("l", row_cells)}}}),
                                          environment);
  ASSERT_TRUE(cpu.ok()) << cpu.error().message;
  CollectSink sink(cpu.value()->worker_count());
  RunProgress progress;
  RunProfile profile;
  ASSERT_TRUE(cpu.value()->run(sink, CancelFlag{}, progress, profile).ok());
  std::vector<uint64_t> expected;
  for (const Batch& batch : sink.take()) {
    const auto* data = batch.columns[0].data<uint64_t>();
    expected.insert(expected.end(), data, data + batch.rows);
  }

  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  const DeviceBuffer key = load(runner, keys);
  const DeviceBuffer row = load(runner, rows);
  const auto partitioned = partition_on_device(runner,
                                               {.key = {key.words(), 8},
                                                .columns = {{row.words(), 8}},
                                                .rows = keys.size(),
                                                .rule = by_hash(200)});
  ASSERT_TRUE(partitioned.ok());
  EXPECT_THAT(values_of<uint64_t>(runner, partitioned.value().columns[0], rows.size()),
              ElementsAreArray(expected));
}

// Places beyond what 32 bits hold, in addresses of which only a few pages are there.
TEST(DevicePartition, places_have_64_bits) {
  constexpr uint64_t kFar = (uint64_t{1} << 33) + 12'345;
  constexpr uint64_t kSpace = (kFar + 4096) * sizeof(uint64_t);
  void* space = mmap(
      nullptr, kSpace, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(space, MAP_FAILED);
  HostRunner runner;
  const std::vector<uint64_t> keys = {1, 0, 1, 0, 1};
  {
    const DeviceBuffer key = load(runner, keys);
    const DeviceBuffer starts = load<uint64_t>(runner, {kFar, kFar + 2, kFar + 5});
    const DeviceBuffer offsets = load<uint64_t>(runner, {0, 0, 0});
    PartitionScatter scatter{.keys = {key.as<std::byte>(), 8},
                             .rule = {.ways = 2, .is_digit = true},
                             .block_rows = {keys.size(), kTile},
                             .starts = starts.words(),
                             .offsets = offsets.words(),
                             .lane_count = 1};
    scatter.lanes[0] = {key.as<std::byte>(), static_cast<std::byte*>(space), 8};
    ASSERT_TRUE(runner.launch(scatter, 1).ok());
    EXPECT_THAT(values_of<uint64_t>(runner, offsets, 3),
                ElementsAreArray({kFar, kFar + 2, kFar + 5}));
    const uint64_t* far = static_cast<uint64_t*>(space) + kFar;
    EXPECT_THAT(std::vector<uint64_t>(far, far + 5), ElementsAreArray({0, 0, 1, 1, 1}));
  }
  munmap(space, kSpace);
}

TEST_P(DevicePartitionConcurrent, scans_have_64_bits_and_any_length) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{513}, uint64_t{70'001}}) {
    for (const uint64_t stride : {1, 2}) {
      std::vector<uint64_t> words((count + 1) * stride, uint64_t{1} << 31);
      const DeviceBuffer buffer = load(runner, words);
      ASSERT_TRUE(runner.scan({.words = buffer.words(), .count = count, .stride = stride}).ok());
      for (uint64_t at = 0; at <= count; ++at) words[at * stride] = at << 31;
      ASSERT_EQ(values_of<uint64_t>(runner, buffer, words.size()), words);
    }
  }
}

TEST(DevicePartition, what_kernels_cannot_do_is_refused) {
  HostRunner runner;
  const auto expect_refused = [&](const DevicePartitionSpec& spec, const char* text) {
    const auto refused = partition_on_device(runner, spec);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr(text));
  };
  expect_refused({.rule = by_hash(257)}, "257 partitions");
  expect_refused({.rule = {.ways = 3, .is_digit = true}}, "a digit of 3 values");
  expect_refused({.key = {nullptr, 2}, .rule = by_hash(2)}, "a key or filter of 2 bytes");
  expect_refused({.columns = {{nullptr, 16}}, .rule = by_hash(2)}, "a column of 16 bytes");
  expect_refused({.columns = std::vector<PartitionColumn>(17), .rule = by_hash(2)}, "17 columns");
  EXPECT_EQ(runner.launches(), 0U);
}

TEST(DevicePartition, too_little_memory_and_failed_launches_leave_nothing_behind) {
  const std::vector<int64_t> keys = keys_of(2 * kTile, 100);
  const auto run = [&](HostRunner& runner, const DeviceBuffer& key) {
    return partition_on_device(runner,
                               {.key = {key.words(), 8},
                                .columns = {{key.words(), 8}, {key.words(), 8}},
                                .rows = keys.size(),
                                .rule = by_hash(64)});
  };
  HostRunner enough;
  ASSERT_TRUE(run(enough, load(enough, keys)).ok());
  for (uint64_t bytes = 0; bytes <= enough.most_bytes(); bytes += enough.most_bytes() / 7 + 1) {
    HostRunner runner;
    const DeviceBuffer key = load(runner, keys);
    const uint64_t held = runner.held_bytes();
    runner.bytes_max = held + bytes;
    if (const auto partitioned = run(runner, key); !partitioned.ok()) {
      EXPECT_EQ(partitioned.error().code, ErrorCode::kOutOfMemoryBudget);
      EXPECT_EQ(runner.launches(), 0U);
    }
    EXPECT_EQ(runner.held_bytes(), held);
  }
  for (uint64_t launch = 0; launch < enough.calls(); ++launch) {
    HostRunner runner;
    const DeviceBuffer key = load(runner, keys);
    const uint64_t held = runner.held_bytes();
    runner.fails_at = launch;
    const auto refused = run(runner, key);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInternal);
    EXPECT_EQ(runner.held_bytes(), held);
  }
}

}  // namespace
}  // namespace crossdock::operators
