// What a group-by on a device adds up and compares: NULLs, floats, decimals and strings as the CPU's operator does.
#include <algorithm>
#include <bit>
#include <cmath>

#include <gmock/gmock.h>

#include "base/int128.hpp"
#include "operators/device/device_columns.hpp"
#include "operators/device/device_gather.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_key_words.hpp"
#include "operators/device/device_keys.hpp"
#include "operators/device/host_runner.hpp"
#include "operators/device/tried_runners.hpp"
#include "operators/group_by/grouping.hpp"

namespace crossdock::operators {
namespace {

using namespace device_test;

class GroupWorkConcurrent : public ::testing::TestWithParam<TriedRunner> {};

INSTANTIATE_TEST_SUITE_P(Shapes, GroupWorkConcurrent, ::testing::ValuesIn(tried_runners()));

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

std::vector<Strings> cpu_values(const ValueTable& input) {
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
Strings finished(DeviceRunner& runner,
                 const DeviceGroups& groups,
                 size_t which,
                 DeviceFinish finish) {
  const auto finished = finish_on_device(runner, groups, which, finish);
  EXPECT_TRUE(finished.ok());
  const auto words = values_of<uint64_t>(runner, finished.value().words, groups.groups);
  const auto valid = values_of<uint8_t>(runner, finished.value().valid, groups.groups);
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
std::vector<Strings> key_strings(DeviceRunner& runner,
                                 const ValueTable& input,
                                 const DeviceGroups& groups) {
  const auto words = read_values<uint64_t>(runner, groups.keys(), groups.groups).value();
  std::vector<Strings> rows(groups.groups);
  if (input.keys.size() == 1) {
    for (uint64_t group = 0; group < groups.groups; ++group) {
      const bool is_null = groups.has_null_key && group + 1 == groups.groups;
      rows[group].push_back(is_null ? "null" : std::to_string(static_cast<int64_t>(words[group])));
    }
    return rows;
  }
  const TablePtr table = table_of(input.keys, input.rows);
  for (size_t key = 0; key < input.keys.size(); ++key) {
    const Strings cells = arrow_test::cells(*table, static_cast<int>(key));
    for (uint64_t group = 0; group < groups.groups; ++group)
      rows[group].push_back(cells[words[group]]);
  }
  return rows;
}

std::vector<Strings> device_values(DeviceRunner& runner, const ValueTable& input, uint64_t above) {
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
    Strings strings;
    const auto group_counts =
        read_values<uint64_t>(runner, groups.column(word), groups.groups).value();
    for (const uint64_t count : group_counts) strings.push_back(std::to_string(count));
    return strings;
  };
  const std::vector<Strings> columns = {
      counts(kGroupCountWord),
      counts(groups.aggregates[0].count_word),
      finished<double>(runner, groups, 0, {}),
      finished<double>(runner, groups, 0, {.is_mean = true}),
      finished<double>(runner, groups, 1, {.stored = Stored::kFloat64}),
      finished<double>(runner, groups, 2, {.stored = Stored::kFloat64}),
      finished<double>(runner, groups, 3, {.is_mean = true}),
      finished<uint64_t>(runner, groups, 4, {.stored = Stored::kUInt64})};
  std::vector<Strings> rows = key_strings(runner, input, groups);
  for (uint64_t group = 0; group < groups.groups; ++group)
    for (const Strings& column : columns) rows[group].push_back(column[group]);
  std::ranges::sort(rows);
  return rows;
}

// A key is that of any of its rows, and -0 is equal to 0, as NaN is to NaN of the other sign.
std::vector<Strings> one_zero(std::vector<Strings> rows) {
  for (Strings& row : rows)
    if (row[0] == "-0" || row[0] == "-nan") row[0].erase(0, 1);
  std::ranges::sort(rows);
  return rows;
}

// Bit by bit: the CPU's exact sums and means of floats, whatever the order of rows.
TEST_P(GroupWorkConcurrent, nulls_and_floats_are_grouped_as_the_cpu_groups_them) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  for (const auto& [formats, null_share] : {std::pair<std::vector<std::string>, double>{{"l"}, 0.2},
                                            {{"l"}, 0},
                                            {{"u", "i"}, 0.3},
                                            {{"g", "b", "d:38,2"}, 0.2}}) {
    Random random(formats.size());
    ValueTable input{.rows = static_cast<int64_t>(GetParam().rows(4000))};
    for (const std::string& format : formats)
      input.keys.push_back(device_array(format, input.rows, 12, null_share, random));
    input.values = {real_array(input.rows, null_share, random),
                    device_array("i", input.rows, 1000, null_share, random),
                    device_array("L", input.rows, 1000, 0.9, random)};
    const std::vector<Strings> expected = one_zero(cpu_values(input));
    EXPECT_EQ(one_zero(device_values(runner, input, UINT64_MAX)), expected);
    EXPECT_EQ(one_zero(device_values(runner, input, 1000)), expected);
  }
}

// Decimals, strings and booleans: a table of their columns, and what is asked of which.
struct WideAggregate {
  DeviceAggregate device;
  AggregateFunction cpu;
  size_t value;
};
const std::vector<std::string> kWideFormats = {"d:38,2", "u", "U", "b"};
const std::vector<WideAggregate> kWideAggregates = {
    {DeviceAggregate::kWideSum, AggregateFunction::kSum, 0},
    {DeviceAggregate::kMinRow, AggregateFunction::kMin, 0},
    {DeviceAggregate::kMaxRow, AggregateFunction::kMax, 0},
    {DeviceAggregate::kMinRow, AggregateFunction::kMin, 1},
    {DeviceAggregate::kMaxRow, AggregateFunction::kMax, 2},
    {DeviceAggregate::kMaxRow, AggregateFunction::kMax, 1},
    {DeviceAggregate::kMinRow, AggregateFunction::kMin, 3}};

std::vector<Strings> cpu_wide_values(const ValueTable& input) {
  using group_test::aggregate;
  std::vector<Array> columns = input.keys;
  columns.insert(columns.end(), input.values.begin(), input.values.end());
  GroupSpec spec;
  spec.keys = {0};
  spec.aggregates = {aggregate(AggregateFunction::kCount), aggregate(AggregateFunction::kMean, 1)};
  for (const WideAggregate& each : kWideAggregates)
    spec.aggregates.push_back(aggregate(each.cpu, static_cast<int>(each.value) + 1));
  group_test::Setting setting{.threads = 1};
  const group_test::Outcome outcome =
      group_test::group(table_of(columns, input.rows), spec, setting);
  EXPECT_TRUE(outcome.status.ok());
  return group_test::sorted_rows(outcome);
}

// What a group-by of the wide aggregates reads.
struct WideInput {
  DeviceBuffer numbers, low, high;
  std::vector<DeviceBuffer> valid{};  // by value
  std::vector<LoadedColumn> values{};
};

WideInput read_wide_input(DeviceRunner& runner, const ValueTable& input) {
  const auto rows = static_cast<uint64_t>(input.rows);
  WideInput wide{.numbers = std::move(number_rows(runner, rows).value()),
                 .low = std::move(DeviceBuffer::words(runner, rows).value()),
                 .high = std::move(DeviceBuffer::words(runner, rows).value())};
  for (const Array& value : input.values) {
    wide.values.push_back(load_array(runner, value));
    wide.valid.push_back(std::move(DeviceBuffer::make(runner, rows).value()));
    const TestRows test{
        .from = wide.values.back().values, .to = wide.valid.back().as<uint8_t>(), .count = rows};
    EXPECT_TRUE(runner.launch(test, 3).ok());
  }
  const ReadHalves halves{.from = wide.values[0].values,
                          .low = wide.low.words(),
                          .high = wide.high.words(),
                          .count = rows};
  EXPECT_TRUE(runner.launch(halves, 3).ok());
  return wide;
}

std::vector<uint64_t> column_words(DeviceRunner& runner,
                                   const DeviceGroups& groups,
                                   uint32_t word) {
  return read_values<uint64_t>(runner, groups.column(word), groups.groups).value();
}

// Of values of rows, or of sums.
Strings wide_cells(DeviceRunner& runner,
                   const WideInput& input,
                   const DeviceGroups& groups,
                   size_t at) {
  const AggregateColumn& aggregate = groups.aggregates[at];
  const WideAggregate& asked = kWideAggregates[at];
  if (asked.device != DeviceAggregate::kWideSum) {
    const auto gathered = gather_column_on_device(runner,
                                                  {.from = input.values[asked.value].values,
                                                   .rows = groups.column(aggregate.word),
                                                   .count = groups.groups,
                                                   .can_miss = true});
    return cells_of(runner, gathered.value(), kWideFormats[asked.value]);
  }
  DeviceColumnData sums;
  sums.stored = Stored::kInt128;
  sums.rows = groups.groups;
  sums.values = std::move(DeviceBuffer::words(runner, 2 * groups.groups).value());
  const DeviceBuffer misfits = load(runner, std::vector<uint64_t>{0});
  const DecimalSums work{.words = groups.column(aggregate.word),
                         .to = sums.values.words(),
                         .misfits = misfits.words(),
                         .count = groups.groups};
  EXPECT_TRUE(runner.launch(work, 2).ok());
  EXPECT_EQ(values_of<uint64_t>(runner, misfits, 1)[0], 0U);
  Strings cells = cells_of(runner, sums, kWideFormats[0]);
  const std::vector<uint64_t> counts = column_words(runner, groups, aggregate.count_word);
  for (size_t group = 0; group < cells.size(); ++group)
    if (counts[group] == 0) cells[group] = "null";
  return cells;
}

std::vector<Strings> device_wide_values(DeviceRunner& runner,
                                        const ValueTable& input,
                                        uint64_t above) {
  const auto rows = static_cast<uint64_t>(input.rows);
  const LoadedColumn key = load_array(runner, input.keys[0]);
  const DeviceKeys keys =
      std::move(DeviceKeys::make(runner, {.columns = {key.values}, .rows = rows}).value());
  const WideInput read = read_wide_input(runner, input);
  DeviceGroupSpec spec{.keys = keys.rows().keys,
                       .rows = rows,
                       .groups_expected = 20,
                       .partition_above_bytes = above,
                       .key_valid = keys.rows().valid};
  for (const WideAggregate& each : kWideAggregates) {
    const bool is_sum = each.device == DeviceAggregate::kWideSum;
    spec.aggregates.push_back({.aggregate = each.device,
                               .values = (is_sum ? read.low : read.numbers).as<int64_t>(),
                               .valid = read.valid[each.value].as<uint8_t>(),
                               .high = is_sum ? read.high.words() : nullptr,
                               .of = read.values[each.value].values});
  }
  const auto grouped = group_on_device(runner, spec);
  EXPECT_TRUE(grouped.ok()) << grouped.error().message;
  const DeviceGroups& groups = grouped.value();
  EXPECT_EQ(groups.passes, 2U);
  std::vector<Strings> columns = {
      Strings{}, finished<double>(runner, groups, 0, {.is_mean = true, .unit = 100})};
  for (const uint64_t count : column_words(runner, groups, kGroupCountWord))
    columns[0].push_back(std::to_string(count));
  for (size_t at = 0; at < kWideAggregates.size(); ++at)
    columns.push_back(wide_cells(runner, read, groups, at));
  std::vector<Strings> result = key_strings(runner, input, groups);
  for (uint64_t group = 0; group < groups.groups; ++group)
    for (const Strings& column : columns) result[group].push_back(column[group]);
  std::ranges::sort(result);
  return result;
}

TEST_P(GroupWorkConcurrent, decimals_and_strings_are_grouped_as_the_cpu_groups_them) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  for (const double null_share : {0.0, 0.3, 0.97}) {
    Random random(7);
    ValueTable input{.rows = static_cast<int64_t>(GetParam().rows(3000))};
    input.keys = {device_array("l", input.rows, 30, null_share / 3, random)};
    for (const std::string& format : kWideFormats)
      input.values.push_back(device_array(format, input.rows, 300, null_share, random));
    const std::vector<Strings> expected = cpu_wide_values(input);
    EXPECT_EQ(device_wide_values(runner, input, UINT64_MAX), expected);
    EXPECT_EQ(device_wide_values(runner, input, 1000), expected);
  }
}

}  // namespace
}  // namespace crossdock::operators
