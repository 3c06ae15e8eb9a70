// Group-bys on a device: the groups and aggregates that the CPU's operator finds, whatever threads run the kernels.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <gmock/gmock.h>

#include "base/int128.hpp"
#include "operators/device/device_columns.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_key_words.hpp"
#include "operators/device/device_keys.hpp"
#include "operators/device/host_runner.hpp"
#include "operators/group_by/grouping.hpp"

namespace crossdock {
namespace {

using namespace device_test;

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

// Key, count, sum, min and max as texts, in ascending order.
std::vector<Texts> cpu_groups(const GroupInput& input) {
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
  std::vector<Texts> groups;
  uint32_t runs = 0;
  bool is_partitioned = false;
};

DeviceOutcome device_groups(HostRunner& runner, const GroupInput& input, DeviceGroupSpec spec) {
  const DeviceBuffer keys = runner.load(input.keys);
  const DeviceBuffer values = runner.load(input.values);
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
  DeviceOutcome outcome{{}, groups.runs, groups.is_partitioned};
  for (uint64_t group = 0; group < groups.groups; ++group) {
    Texts& row = outcome.groups.emplace_back();
    for (const std::vector<int64_t>& column : columns) row.push_back(std::to_string(column[group]));
  }
  std::ranges::sort(outcome.groups);
  return outcome;
}

class DeviceGroupByConcurrent : public ::testing::TestWithParam<HostRunnerShape> {};

INSTANTIATE_TEST_SUITE_P(Shapes,
                         DeviceGroupByConcurrent,
                         ::testing::ValuesIn(host_runner_shapes()));

TEST_P(DeviceGroupByConcurrent, finds_the_groups_that_the_cpu_finds) {
  HostRunner runner(GetParam());
  const auto rows = [](uint64_t count) { return tried_rows(GetParam(), count); };
  for (const GroupInput& input :
       {input_of(spread_keys(rows(20'000), 60)),
        input_of(spread_keys(rows(20'000), rows(9000))),
        input_of(unique_keys(rows(9000))),
        input_of(heavy_keys(rows(12'000), rows(3000))),
        input_of(std::vector<int64_t>(rows(9000), static_cast<int64_t>(kFreeKey))),
        input_of(std::vector<int64_t>(rows(5000), -1)),
        input_of({}),
        input_of({0})}) {
    const std::vector<Texts> expected = cpu_groups(input);
    EXPECT_EQ(device_groups(runner, input, {.groups_expected = 3000}).groups, expected);
    const DeviceOutcome in_pieces =
        device_groups(runner, input, {.groups_expected = 8000, .partition_above_bytes = 1000});
    EXPECT_EQ(in_pieces.groups, expected);
    EXPECT_EQ(in_pieces.is_partitioned, input.keys.size() > 100);
  }
}

// Tables that are too small are found out by all blocks, and made anew.
TEST_P(DeviceGroupByConcurrent, a_guess_that_was_too_small_is_mended) {
  HostRunner runner(GetParam());
  const GroupInput input = input_of(unique_keys(tried_rows(GetParam(), 12'000)));
  const DeviceOutcome outcome = device_groups(runner, input, {.groups_expected = 10});
  EXPECT_EQ(outcome.groups, cpu_groups(input));
  EXPECT_GT(outcome.runs, 1U);
}

// The CPU's sums of 64 bits end with an error here; these have 128.
TEST_P(DeviceGroupByConcurrent, sums_do_not_overflow) {
  using Limits = std::numeric_limits<int64_t>;
  HostRunner runner(GetParam());
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
  const DeviceBuffer key = runner.load(keys);
  const DeviceBuffer value = runner.load(values);
  const auto grouped =
      group_on_device(runner,
                      {.keys = key.words(),
                       .rows = keys.size(),
                       .aggregates = {{DeviceAggregate::kSum, value.as<int64_t>()}}});
  ASSERT_TRUE(grouped.ok());
  ASSERT_EQ(grouped.value().groups, 3U);
  const auto words = runner.values<uint64_t>(grouped.value().words, 12);
  for (uint64_t group = 0; group < 3; ++group) {
    const auto sum =
        static_cast<Int128>(static_cast<UInt128>(words[9 + group]) << 64 | words[6 + group]);
    EXPECT_TRUE(sum == expected[static_cast<int64_t>(words[group])]) << words[group];
  }
}

// Doubles whose sums need more than 128 bits, and now and then none that is a number.
Array real_array(int64_t rows, double null_share, Random& random) {
  const Array array = device_array("g", rows, 200, null_share, random);
  Array plain{"g", rows, -1, array.offset, array.buffers, nullptr};
  auto* values = reinterpret_cast<double*>(plain.buffers[1]->data());
  for (int64_t row = 0; row < rows; ++row) {
    double& value = values[array.offset + row];
    if (random() % 40 != 0) value = std::ldexp(0.1 * static_cast<double>(row % 97) - 4, row % 90);
  }
  return plain;
}

struct ValueTable {
  std::vector<Array> keys{};
  std::vector<Array> values{};  // "g", "i", "L"
  int64_t rows = 0;
};

std::vector<Texts> cpu_values(const ValueTable& input) {
  using group_test::aggregate;
  std::vector<Array> columns = input.keys;
  columns.insert(columns.end(), input.values.begin(), input.values.end());
  GroupSpec spec;
  const int first = static_cast<int>(input.keys.size());
  for (int key = 0; key < first; ++key) spec.keys.push_back(key);
  spec.aggregates = {aggregate(AggregateFunction::kCount),
                     aggregate(AggregateFunction::kCount, first),
                     aggregate(AggregateFunction::kSum, first),
                     aggregate(AggregateFunction::kMean, first),
                     aggregate(AggregateFunction::kMin, first),
                     aggregate(AggregateFunction::kMax, first),
                     aggregate(AggregateFunction::kMean, first + 1),
                     aggregate(AggregateFunction::kMin, first + 2)};
  for (AggregateSpec& each : spec.aggregates) each.floats = FloatSums::kExact;
  group_test::Setting setting{.threads = 1};
  const group_test::Outcome outcome =
      group_test::group(table_of(columns, input.rows), spec, setting);
  EXPECT_TRUE(outcome.status.ok());
  return group_test::sorted_rows(outcome);
}

template <class T>
Texts finished(HostRunner& runner, const DeviceGroups& groups, size_t which, DeviceFinish finish) {
  const auto made = finish_on_device(runner, groups, which, finish);
  EXPECT_TRUE(made.ok());
  const auto words = runner.values<uint64_t>(made.value().words, groups.groups);
  const auto valid = runner.values<uint8_t>(made.value().valid, groups.groups);
  arrow_test::Optionals<T> values;
  for (uint64_t group = 0; group < groups.groups; ++group) {
    values.push_back(std::nullopt);
    if (valid[group] != 0) values.back() = std::bit_cast<T>(words[group]);
  }
  const std::string format = std::is_same_v<T, double> ? "g" : "L";
  return arrow_test::cells(arrow_test::make_batch({{"v", arrow_test::fixed<T>(format, values)}}),
                           0);
}

// Keys of one column are words and whether there is one; of several, rows that have them.
std::vector<Texts> key_texts(HostRunner& runner,
                             const ValueTable& input,
                             const DeviceGroups& groups) {
  const auto words = read_values<uint64_t>(runner, groups.keys(), groups.groups).value();
  std::vector<Texts> rows(groups.groups);
  const TablePtr table = table_of(input.keys, input.rows);
  for (uint64_t group = 0; group < groups.groups; ++group) {
    if (input.keys.size() == 1) {
      const bool is_null = groups.has_null_key && group + 1 == groups.groups;
      rows[group].push_back(is_null ? "null" : std::to_string(static_cast<int64_t>(words[group])));
    }
    for (size_t key = 0; input.keys.size() > 1 && key < input.keys.size(); ++key)
      rows[group].push_back(arrow_test::cells(*table, static_cast<int>(key))[words[group]]);
  }
  return rows;
}

std::vector<Texts> device_values(HostRunner& runner, const ValueTable& input, uint64_t above) {
  std::vector<LoadedColumn> loaded;
  DeviceKeySpec key_spec{.rows = static_cast<uint64_t>(input.rows),
                         .nulls_equal = input.keys.size() > 1};
  for (const Array& key : input.keys) {
    loaded.push_back(load_array(runner, key));
    key_spec.columns.push_back(loaded.back().values);
  }
  const DeviceKeys keys = std::move(DeviceKeys::make(runner, key_spec).value());
  std::vector<DeviceKeyWords> words;
  const std::pair<size_t, KeyOrder> reads[] = {{0, KeyOrder::kNone},
                                               {0, KeyOrder::kNanLast},
                                               {0, KeyOrder::kNanFirst},
                                               {1, KeyOrder::kNone},
                                               {2, KeyOrder::kNanLast}};
  for (const Array& value : input.values) loaded.push_back(load_array(runner, value));
  for (const auto& [column, order] : reads)
    words.push_back(
        std::move(read_words_on_device(
                      runner, loaded[input.keys.size() + column].values, key_spec.rows, order)
                      .value()));
  DeviceGroupSpec spec{.keys = keys.rows().keys,
                       .rows = key_spec.rows,
                       .groups_expected = 20,
                       .partition_above_bytes = above,
                       .key_valid = keys.rows().valid};
  const DeviceAggregate aggregates[] = {DeviceAggregate::kRealSum,
                                        DeviceAggregate::kMin,
                                        DeviceAggregate::kMax,
                                        DeviceAggregate::kSum,
                                        DeviceAggregate::kMin};
  for (size_t at = 0; at < words.size(); ++at)
    spec.aggregates.push_back({aggregates[at],
                               reinterpret_cast<const int64_t*>(words[at].rows.keys),
                               words[at].rows.valid});
  const auto grouped = group_on_device(runner, spec);
  EXPECT_TRUE(grouped.ok()) << grouped.error().message;
  const DeviceGroups& groups = grouped.value();
  const auto counts = [&](uint32_t word) {
    Texts texts;
    const auto found = read_values<uint64_t>(runner, groups.column(word), groups.groups).value();
    for (const uint64_t count : found) texts.push_back(std::to_string(count));
    return texts;
  };
  const std::vector<Texts> columns = {
      counts(kGroupCountWord),
      counts(groups.aggregates[0].count_word),
      finished<double>(runner, groups, 0, {}),
      finished<double>(runner, groups, 0, {.is_mean = true}),
      finished<double>(runner, groups, 1, {.stored = Stored::kFloat64}),
      finished<double>(runner, groups, 2, {.stored = Stored::kFloat64}),
      finished<double>(runner, groups, 3, {.is_mean = true}),
      finished<uint64_t>(runner, groups, 4, {.stored = Stored::kUInt64})};
  std::vector<Texts> rows = key_texts(runner, input, groups);
  for (uint64_t group = 0; group < groups.groups; ++group)
    for (const Texts& column : columns) rows[group].push_back(column[group]);
  std::ranges::sort(rows);
  return rows;
}

// A key is that of any of its rows, and -0 is equal to 0, as NaN is to NaN of the other sign.
std::vector<Texts> one_zero(std::vector<Texts> rows) {
  for (Texts& row : rows)
    if (row[0] == "-0" || row[0] == "-nan") row[0].erase(0, 1);
  std::ranges::sort(rows);
  return rows;
}

// Bit by bit: the CPU's exact sums and means of floats, whatever the order of rows.
TEST_P(DeviceGroupByConcurrent, nulls_and_floats_are_grouped_as_the_cpu_groups_them) {
  HostRunner runner(GetParam());
  for (const auto& [formats, null_share] : {std::pair<std::vector<std::string>, double>{{"l"}, 0.2},
                                            {{"l"}, 0},
                                            {{"u", "i"}, 0.3},
                                            {{"g", "b", "d:38,2"}, 0.2}}) {
    Random random(formats.size());
    ValueTable input{.rows = static_cast<int64_t>(tried_rows(GetParam(), 4000))};
    for (const std::string& format : formats)
      input.keys.push_back(device_array(format, input.rows, 12, null_share, random));
    input.values = {real_array(input.rows, null_share, random),
                    device_array("i", input.rows, 1000, null_share, random),
                    device_array("L", input.rows, 1000, 0.9, random)};
    const std::vector<Texts> expected = one_zero(cpu_values(input));
    EXPECT_EQ(one_zero(device_values(runner, input, UINT64_MAX)), expected);
    EXPECT_EQ(one_zero(device_values(runner, input, 1000)), expected);
  }
}

TEST(DeviceGroupBy, without_a_guess_there_is_one) {
  HostRunner runner;
  const GroupInput input = input_of(spread_keys(30'000, 100));
  EXPECT_EQ(device_groups(runner, input, {}).groups, cpu_groups(input));
}

TEST(DeviceGroupBy, too_many_aggregates_are_refused) {
  HostRunner runner;
  const auto grouped = group_on_device(
      runner, {.aggregates = std::vector<DeviceAggregateSpec>(kDeviceAggregatesMax + 1)});
  ASSERT_FALSE(grouped.ok());
  EXPECT_EQ(grouped.error().code, ErrorCode::kInvalidArgument);
}

TEST(DeviceGroupBy, too_little_memory_and_failed_launches_leave_nothing_behind) {
  const GroupInput input = input_of(unique_keys(6000));
  const auto run = [&](HostRunner& runner, uint64_t bytes_max, uint64_t fails_at) -> Status {
    const DeviceBuffer keys = runner.load(input.keys);
    const DeviceBuffer values = runner.load(input.values);
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
}  // namespace crossdock
