// Joins on a device, by hash and by sorting: the pairs that the CPU's join finds, whatever threads run the kernels.
#include <algorithm>

#include <gmock/gmock.h>

#include "operators/device/device_columns.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/device_keys.hpp"
#include "operators/device/host_runner.hpp"
#include "operators/device/tried_runners.hpp"

namespace crossdock::operators {
namespace {

using namespace device_test;

struct JoinSides {
  std::vector<int64_t> build;
  std::vector<int64_t> probe;
};

std::vector<JoinSides> sides_of_all_shapes(const TriedRunner& tried) {
  const auto rows = [&](uint64_t count) { return tried.rows(count); };
  constexpr auto kFree = static_cast<int64_t>(kFreeKey);
  return {{unique_keys(rows(1500)), spread_keys(rows(2500), rows(3000))},
          {spread_keys(rows(2200), rows(700)), spread_keys(rows(1500), rows(900))},
          {heavy_keys(rows(500), rows(300)), heavy_keys(rows(200), rows(300))},
          {std::vector<int64_t>(rows(2000), kFree), {5, kFree, -1}},
          {unique_keys(20), std::vector<int64_t>(rows(5000), 0)},
          {{}, spread_keys(100, 50)},
          {unique_keys(100), {}},
          {{}, {}},
          {{kFree}, {0, kFree}}};
}

TablePtr table_of_keys(const std::vector<int64_t>& keys) {
  const arrow_test::Optionals<int64_t> values(keys.begin(), keys.end());
  return table_of({arrow_test::fixed<int64_t>("l", values)}, static_cast<int64_t>(keys.size()));
}

class DeviceJoinConcurrent : public ::testing::TestWithParam<TriedRunner> {};

INSTANTIATE_TEST_SUITE_P(Shapes, DeviceJoinConcurrent, ::testing::ValuesIn(tried_runners()));

TEST_P(DeviceJoinConcurrent, finds_the_pairs_that_the_cpu_finds) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  for (const JoinSides& sides : sides_of_all_shapes(GetParam())) {
    const DeviceBuffer probe = load(runner, sides.probe);
    const DeviceBuffer build = load(runner, sides.build);
    expect_joins(runner,
                 {.keys = probe.words(), .count = sides.probe.size()},
                 {.keys = build.words(), .count = sides.build.size()},
                 {table_of_keys(sides.probe), table_of_keys(sides.build)});
  }
}

TEST(DeviceJoin, rows_are_called_by_their_ids) {
  HostRunner runner;
  const DeviceBuffer build = load<int64_t>(runner, {7, 8, 8, 9});
  const DeviceBuffer build_ids = load<uint64_t>(runner, {70, 80, 81, 90});
  const DeviceBuffer probe = load<int64_t>(runner, {8, 6, 9});
  const DeviceBuffer probe_ids = load<uint64_t>(runner, {800, 600, 900});
  for (const uint64_t above : {uint64_t{0}, uint64_t{1}}) {
    const auto table = DeviceHashTable::build(
        runner, {build.words(), build_ids.words(), 4}, {.partition_above_bytes = above});
    ASSERT_TRUE(table.ok());
    EXPECT_TRUE(table.value().has_duplicates());
    const auto matches =
        table.value().join({probe.words(), probe_ids.words(), 3}, DeviceJoinKind::kLeft);
    EXPECT_EQ(pairs_of(runner, matches.value(), DeviceJoinKind::kLeft),
              (RowPairs{{600, kNoRow}, {800, 80}, {800, 81}, {900, 90}}));
    const auto gathered = gather_on_device(
        runner, build_ids.words(), load<uint64_t>(runner, {3, kNoRow, 0}).words(), 3, 5);
    EXPECT_EQ(values_of<uint64_t>(runner, gathered.value(), 3), (std::vector<uint64_t>{90, 5, 70}));
  }
}

// Numbers of matches that no 32 bits hold are counted without being made.
TEST(DeviceJoin, counts_have_64_bits) {
  HostRunner runner;
  const std::vector<int64_t> same(70'000, -1);
  const DeviceBuffer keys = load(runner, same);
  const JoinRows rows{.keys = keys.words(), .count = same.size()};
  const auto table = DeviceHashTable::build(runner, rows);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table.value().count(rows, DeviceJoinKind::kInner).value(), uint64_t{4'900'000'000});
  EXPECT_EQ(table.value().count(rows, DeviceJoinKind::kSemi).value(), same.size());
  const auto side = DeviceSortedSide::sort(runner, rows);
  EXPECT_EQ(count_merged(runner, side.value(), side.value(), DeviceJoinKind::kInner).value(),
            uint64_t{4'900'000'000});
}

TEST(DeviceJoin, more_rows_than_slots_can_be_are_refused) {
  HostRunner runner;
  const auto table = DeviceHashTable::build(runner, {.count = (uint64_t{1} << 31) + 1});
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code, ErrorCode::kTooManyRows);
}

// With `bytes_max` more than the keys take, and the launch of this number failing.
Status build_and_join(HostRunner& runner, uint64_t bytes_max, uint64_t fails_at) {
  const std::vector<int64_t> keys = spread_keys(5000, 2000);
  const DeviceBuffer buffer = load(runner, keys);
  const JoinRows rows{.keys = buffer.words(), .count = keys.size()};
  runner.bytes_max = runner.held_bytes() + bytes_max;
  runner.fails_at = fails_at;
  CD_ASSIGN(const DeviceSortedSide side, DeviceSortedSide::sort(runner, rows));
  CD_ASSIGN(const DeviceHashTable table,
            DeviceHashTable::build(runner, rows, {.partition_above_bytes = 10'000}));
  CD_ASSIGN(const DeviceMatches matches, table.join(rows, DeviceJoinKind::kInner));
  return {};
}

TEST(DeviceJoin, too_little_memory_and_failed_launches_leave_nothing_behind) {
  expect_all_given_back(build_and_join);
}

}  // namespace
}  // namespace crossdock::operators
