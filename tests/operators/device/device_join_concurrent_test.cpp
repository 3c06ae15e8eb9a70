// Joins on a device, by hash and by sorting: the pairs that the CPU's join finds, whatever threads run the kernels.
#include <algorithm>

#include <gmock/gmock.h>

#include "operators/device/device_join.hpp"
#include "operators/device/device_keys.hpp"
#include "operators/device/host_runner.hpp"
#include "operators/hash_join/hash_join.hpp"
#include "table/arrow_builder.hpp"

namespace crossdock {
namespace {

using namespace device_test;
using Pair = std::vector<std::string>;  // rows of the probe and of the build side, or "null"

const std::pair<DeviceJoinKind, JoinKind> kJoinKinds[] = {
    {DeviceJoinKind::kInner, JoinKind::kInner},
    {DeviceJoinKind::kLeft, JoinKind::kLeft},
    {DeviceJoinKind::kSemi, JoinKind::kSemi},
    {DeviceJoinKind::kAnti, JoinKind::kAnti}};

struct JoinSides {
  std::vector<int64_t> build;
  std::vector<int64_t> probe;
};

std::vector<JoinSides> sides_of_all_shapes(const HostRunnerShape& shape) {
  const auto rows = [&](uint64_t count) { return tried_rows(shape, count); };
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

// Columns "k" and "row".
TablePtr table_of_keys(const std::vector<int64_t>& keys) {
  using namespace arrow_test;
  Optionals<int64_t> rows;
  for (size_t row = 0; row < keys.size(); ++row) rows.push_back(static_cast<int64_t>(row));
  return make_table({{{"k", fixed<int64_t>("l", Optionals<int64_t>(keys.begin(), keys.end()))},
                      {"row", fixed<int64_t>("l", rows)}}});
}

// What the CPU's operator answers, in ascending order.
std::vector<Pair> cpu_pairs(const JoinSides& sides, JoinKind kind) {
  JoinSpec spec;
  spec.kind = kind;
  spec.build_is_forced = true;
  spec.keys = {{0, 0}};
  spec.output = {{OutputSide::kLeft, 1, "probe"}};
  if (kind == JoinKind::kInner || kind == JoinKind::kLeft)
    spec.output.push_back({OutputSide::kRight, 1, "build"});
  const auto join = HashJoin::create(spec,
                                     table_of_keys(sides.probe),
                                     table_of_keys(sides.build),
                                     {Memory::create(int64_t{1} << 30), 1, Machine{}, 42});
  EXPECT_TRUE(join.ok()) << join.error().message;
  CollectSink sink(join.value()->worker_count());
  RunProgress progress;
  RunProfile profile;
  EXPECT_TRUE(join.value()->run(sink, CancelFlag{}, progress, profile).ok());
  std::vector<Pair> pairs;
  for (const Batch& batch : sink.take()) {
    std::vector<arrow_test::Texts> columns;
    for (size_t c = 0; c < batch.columns.size(); ++c)
      columns.push_back(arrow_test::cells(batch, static_cast<int>(c)));
    for (int64_t row = 0; row < batch.rows; ++row) {
      Pair& pair = pairs.emplace_back();
      for (const arrow_test::Texts& column : columns) pair.push_back(column[row]);
    }
  }
  std::ranges::sort(pairs);
  return pairs;
}

std::vector<Pair> pairs_of(HostRunner& runner, const DeviceMatches& matches, DeviceJoinKind kind) {
  const auto text = [](uint64_t row) { return row == kNoRow ? "null" : std::to_string(row); };
  const bool has_build = kind == DeviceJoinKind::kInner || kind == DeviceJoinKind::kLeft;
  const auto probe = runner.values<uint64_t>(matches.probe_rows, matches.count);
  const auto build = runner.values<uint64_t>(matches.build_rows, has_build ? matches.count : 0);
  std::vector<Pair> pairs;
  for (uint64_t at = 0; at < matches.count; ++at) {
    pairs.push_back({text(probe[at])});
    if (has_build) pairs.back().push_back(text(build[at]));
  }
  std::ranges::sort(pairs);
  return pairs;
}

class DeviceJoinConcurrent : public ::testing::TestWithParam<HostRunnerShape> {};

INSTANTIATE_TEST_SUITE_P(Shapes, DeviceJoinConcurrent, ::testing::ValuesIn(host_runner_shapes()));

void expect_joins(HostRunner& runner, const JoinSides& sides) {
  const DeviceBuffer build = runner.load(sides.build);
  const DeviceBuffer probe = runner.load(sides.probe);
  const JoinRows build_rows{.keys = build.words(), .count = sides.build.size()};
  const JoinRows probe_rows{.keys = probe.words(), .count = sides.probe.size()};
  const auto sorted_build = DeviceSortedSide::sort(runner, build_rows);
  const auto sorted_probe = DeviceSortedSide::sort(runner, probe_rows);
  const auto table = DeviceHashTable::build(runner, build_rows);
  const auto in_pieces = DeviceHashTable::build(runner, build_rows, {.partition_above_bytes = 999});
  ASSERT_TRUE(sorted_build.ok() && sorted_probe.ok() && table.ok() && in_pieces.ok());
  for (const auto& [kind, cpu_kind] : kJoinKinds) {
    SCOPED_TRACE(join_kind_name(cpu_kind));
    const std::vector<Pair> expected = cpu_pairs(sides, cpu_kind);
    for (const DeviceHashTable* built : {&table.value(), &in_pieces.value()}) {
      const auto matches = built->join(probe_rows, kind);
      ASSERT_TRUE(matches.ok()) << matches.error().message;
      EXPECT_EQ(pairs_of(runner, matches.value(), kind), expected);
      EXPECT_EQ(built->count(probe_rows, kind).value(), expected.size());
    }
    const auto merged = merge_on_device(runner, sorted_probe.value(), sorted_build.value(), kind);
    ASSERT_TRUE(merged.ok()) << merged.error().message;
    EXPECT_EQ(pairs_of(runner, merged.value(), kind), expected);
    const auto count = count_merged(runner, sorted_probe.value(), sorted_build.value(), kind);
    EXPECT_EQ(count.value(), expected.size());
  }
}

TEST_P(DeviceJoinConcurrent, finds_the_pairs_that_the_cpu_finds) {
  HostRunner runner(GetParam());
  for (const JoinSides& sides : sides_of_all_shapes(GetParam())) expect_joins(runner, sides);
}

TEST(DeviceJoin, rows_are_called_by_their_ids) {
  HostRunner runner;
  const DeviceBuffer build = runner.load<int64_t>({7, 8, 8, 9});
  const DeviceBuffer build_ids = runner.load<uint64_t>({70, 80, 81, 90});
  const DeviceBuffer probe = runner.load<int64_t>({8, 6, 9});
  const DeviceBuffer probe_ids = runner.load<uint64_t>({800, 600, 900});
  for (const uint64_t above : {uint64_t{0}, uint64_t{1}}) {
    const auto table = DeviceHashTable::build(
        runner, {build.words(), build_ids.words(), 4}, {.partition_above_bytes = above});
    ASSERT_TRUE(table.ok());
    EXPECT_TRUE(table.value().has_duplicates());
    const auto matches =
        table.value().join({probe.words(), probe_ids.words(), 3}, DeviceJoinKind::kLeft);
    EXPECT_EQ(pairs_of(runner, matches.value(), DeviceJoinKind::kLeft),
              (std::vector<Pair>{{"600", "null"}, {"800", "80"}, {"800", "81"}, {"900", "90"}}));
    const auto gathered = gather_on_device(
        runner, build_ids.words(), runner.load<uint64_t>({3, kNoRow, 0}).words(), 3, 5);
    EXPECT_EQ(runner.values<uint64_t>(gathered.value(), 3), (std::vector<uint64_t>{90, 5, 70}));
  }
}

// Numbers of matches that no 32 bits hold are counted without being made.
TEST(DeviceJoin, counts_have_64_bits) {
  HostRunner runner;
  const std::vector<int64_t> same(70'000, -1);
  const DeviceBuffer keys = runner.load(same);
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
  const DeviceBuffer buffer = runner.load(keys);
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
  HostRunner enough;
  ASSERT_TRUE(build_and_join(enough, uint64_t{1} << 40, UINT64_MAX).ok());
  int failures = 0;
  for (uint64_t bytes = 0; bytes < enough.most_bytes(); bytes += enough.most_bytes() / 12) {
    HostRunner runner;
    const Status status = build_and_join(runner, bytes, UINT64_MAX);
    EXPECT_EQ(runner.held_bytes(), 0U);
    if (status.ok()) continue;
    ++failures;
    EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemoryBudget);
  }
  EXPECT_GT(failures, 5);
  for (uint64_t launch = 0; launch < enough.launches(); ++launch) {
    HostRunner runner;
    const Status status = build_and_join(runner, uint64_t{1} << 40, launch);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInternal);
    EXPECT_EQ(runner.held_bytes(), 0U);
  }
}

}  // namespace
}  // namespace crossdock
