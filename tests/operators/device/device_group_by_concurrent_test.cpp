// Group-bys on a device: the groups and aggregates that the CPU's operator finds, whatever threads run the kernels.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>

#include "base/int128.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_keys.hpp"
#include "operators/device/host_runner.hpp"
#include "operators/device/tried_runners.hpp"
#include "operators/group_by/grouping.hpp"

namespace crossdock::operators {
namespace {

using namespace device_test;
using arrow_test::Strings;

const std::vector<DeviceAggregate> kAllAggregates = {
    DeviceAggregate::kSum, DeviceAggregate::kMin, DeviceAggregate::kMax};

struct GroupInput {
  std::vector<int64_t> keys;
  std::vector<int64_t> values;
};

GroupInput input_of(std::vector<int64_t> keys) {
  GroupInput input{std::move(keys), {}};
  for (size_t row = 0; row < input.keys.size(); ++row)
    input.values.push_back(static_cast<int64_t>(row * 7919 % 1001) - 500);
  return input;
}

// Key, count, sum, min and max as strings, in ascending order.
std::vector<Strings> cpu_groups(const GroupInput& input) {
  using namespace arrow_test;
  using group_test::aggregate;
  const TablePtr table = make_table(
      {{{"k", fixed<int64_t>("l", Optionals<int64_t>(input.keys.begin(), input.keys.end()))},
        {"v", fixed<int64_t>("l", Optionals<int64_t>(input.values.begin(), input.values.end()))}}});
  GroupSpec spec;
  spec.keys = {0};
  spec.aggregates = {aggregate(AggregateFunction::kCount),
                     aggregate(AggregateFunction::kSum, 1),
                     aggregate(AggregateFunction::kMin, 1),
                     aggregate(AggregateFunction::kMax, 1)};
  group_test::Setting setting{.threads = 1};
  const group_test::Outcome outcome = group_test::group(table, spec, setting);
  EXPECT_TRUE(outcome.status.ok());
  return group_test::sorted_rows(outcome);
}

struct DeviceOutcome {
  std::vector<Strings> groups;
  uint32_t runs = 0;
  uint32_t passes = 0;
  bool is_partitioned = false;
};

DeviceOutcome device_groups(DeviceRunner& runner, const GroupInput& input, DeviceGroupSpec spec) {
  const DeviceBuffer keys = load(runner, input.keys);
  const DeviceBuffer values = load(runner, input.values);
  spec.keys = keys.words();
  spec.rows = input.keys.size();
  for (const DeviceAggregate aggregate : kAllAggregates)
    spec.aggregates.push_back({aggregate, values.as<int64_t>()});
  const auto grouped = group_on_device(runner, spec);
  EXPECT_TRUE(grouped.ok()) << grouped.error().message;
  const DeviceGroups& groups = grouped.value();
  const auto read = [&](const uint64_t* column) {
    return read_values<int64_t>(runner, column, groups.groups).value();
  };
  std::vector<std::vector<int64_t>> columns = {read(groups.keys()), read(groups.counts())};
  for (const uint32_t word : groups.first_word) columns.push_back(read(groups.column(word)));
  DeviceOutcome outcome{{}, groups.runs, groups.passes, groups.is_partitioned};
  for (uint64_t group = 0; group < groups.groups; ++group) {
    Strings& row = outcome.groups.emplace_back();
    for (const std::vector<int64_t>& column : columns) row.push_back(std::to_string(column[group]));
  }
  std::ranges::sort(outcome.groups);
  return outcome;
}

class DeviceGroupByConcurrent : public ::testing::TestWithParam<TriedRunner> {};

INSTANTIATE_TEST_SUITE_P(Shapes, DeviceGroupByConcurrent, ::testing::ValuesIn(tried_runners()));

TEST_P(DeviceGroupByConcurrent, finds_the_groups_that_the_cpu_finds) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  const auto rows = [](uint64_t count) { return GetParam().rows(count); };
  for (const GroupInput& input :
       {input_of(spread_keys(rows(20'000), 60)),
        input_of(spread_keys(rows(20'000), rows(9000))),
        input_of(unique_keys(rows(9000))),
        input_of(heavy_keys(rows(12'000), rows(3000))),
        input_of(std::vector<int64_t>(rows(9000), static_cast<int64_t>(kFreeKey))),
        input_of(std::vector<int64_t>(rows(5000), -1)),
        input_of({}),
        input_of({0})}) {
    const std::vector<Strings> expected = cpu_groups(input);
    EXPECT_EQ(device_groups(runner, input, {.groups_expected = 3000}).groups, expected);
    const DeviceOutcome in_pieces =
        device_groups(runner, input, {.groups_expected = 8000, .partition_above_bytes = 1000});
    EXPECT_EQ(in_pieces.groups, expected);
    EXPECT_EQ(in_pieces.is_partitioned, input.keys.size() > 100);
  }
}

// Tables that are too small are found out by all blocks, and larger ones are made.
TEST_P(DeviceGroupByConcurrent, a_guess_that_was_too_small_is_corrected) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  const GroupInput input = input_of(unique_keys(GetParam().rows(12'000)));
  const DeviceOutcome outcome = device_groups(runner, input, {.groups_expected = 10});
  EXPECT_EQ(outcome.groups, cpu_groups(input));
  EXPECT_GT(outcome.runs, 1U);
}

// The CPU's sums of 64 bits end with an error here; these have 128.
TEST_P(DeviceGroupByConcurrent, sums_do_not_overflow) {
  using Limits = std::numeric_limits<int64_t>;
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  std::vector<int64_t> keys, values;
  std::map<int64_t, Int128> expected;
  uint64_t state = 1;
  for (int row = 0; row < 5000; ++row) {
    keys.push_back(row % 3);
    const int64_t extreme = keys.back() == 0 ? Limits::max() : Limits::min();
    values.push_back(keys.back() == 2 ? static_cast<int64_t>(next_random(state))
                                      : extreme - row % 2 * keys.back() / 3);
    expected[keys.back()] += values.back();
  }
  const DeviceBuffer key = load(runner, keys);
  const DeviceBuffer value = load(runner, values);
  const auto grouped =
      group_on_device(runner,
                      {.keys = key.words(),
                       .rows = keys.size(),
                       .aggregates = {{DeviceAggregate::kSum, value.as<int64_t>()}}});
  ASSERT_TRUE(grouped.ok());
  ASSERT_EQ(grouped.value().groups, 3U);
  const auto words = values_of<uint64_t>(runner, grouped.value().words, 12);
  for (uint64_t group = 0; group < 3; ++group) {
    const auto sum =
        static_cast<Int128>(static_cast<UInt128>(words[9 + group]) << 64 | words[6 + group]);
    EXPECT_TRUE(sum == expected[static_cast<int64_t>(words[group])]) << words[group];
  }
}

// One pass has room for six aggregates: others add to the table that the first has left.
TEST_P(DeviceGroupByConcurrent, many_aggregates_take_several_passes) {
  constexpr int64_t kMore = 6;
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  for (const uint64_t above : {uint64_t{0}, uint64_t{1000}}) {
    const GroupInput input = input_of(spread_keys(GetParam().rows(9000), 700));
    std::vector<int64_t> keys = input.keys;
    keys[3] = static_cast<int64_t>(kFreeKey);
    std::vector<Strings> expected = cpu_groups({keys, input.values});
    for (Strings& row : expected) {
      for (int64_t more = 1; more < kMore; ++more) {
        row.push_back(std::to_string(std::stoll(row[2]) + more * std::stoll(row[1])));
        for (size_t extreme : {3, 4})
          row.push_back(std::to_string(std::stoll(row[extreme]) + more));
      }
    }
    std::vector<DeviceBuffer> values;
    DeviceGroupSpec spec{.groups_expected = 40, .partition_above_bytes = above};
    for (int64_t more = 0; more < kMore; ++more) {
      std::vector<int64_t> shifted = input.values;
      for (int64_t& value : shifted) value += more;
      values.push_back(load(runner, shifted));
      for (const DeviceAggregate aggregate : kAllAggregates)
        if (more > 0) spec.aggregates.push_back({aggregate, values.back().as<int64_t>()});
    }
    const DeviceOutcome outcome = device_groups(runner, {keys, input.values}, spec);
    EXPECT_EQ(outcome.passes, 3U);
    EXPECT_EQ(outcome.is_partitioned, above != 0);
    // Sums, minima and maxima of the values themselves come last.
    for (Strings& row : expected) std::rotate(row.begin() + 2, row.begin() + 5, row.end());
    std::ranges::sort(expected);
    EXPECT_EQ(outcome.groups, expected);
  }
}

TEST(DeviceGroupBy, without_a_guess_there_is_one) {
  HostRunner runner;
  const GroupInput input = input_of(spread_keys(30'000, 100));
  EXPECT_EQ(device_groups(runner, input, {}).groups, cpu_groups(input));
}

TEST(DeviceGroupBy, too_little_memory_and_failed_launches_leave_nothing_behind) {
  const GroupInput input = input_of(unique_keys(6000));
  const auto run = [&](HostRunner& runner, uint64_t bytes_max, uint64_t fails_at) -> Status {
    const DeviceBuffer keys = load(runner, input.keys);
    const DeviceBuffer values = load(runner, input.values);
    runner.bytes_max = runner.held_bytes() + bytes_max;
    runner.fails_at = fails_at;
    CD_ASSIGN(const DeviceGroups groups,
              group_on_device(runner,
                              {.keys = keys.words(),
                               .rows = input.keys.size(),
                               .aggregates = {{DeviceAggregate::kSum, values.as<int64_t>()}},
                               .groups_expected = 100,
                               .partition_above_bytes = 10'000}));
    return {};
  };
  expect_all_given_back(run);
}

}  // namespace
}  // namespace crossdock::operators
