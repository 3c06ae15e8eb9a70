// Keys of any columns on a device: joins by them find the pairs that the CPU's join finds, and columns of chosen rows
// come out as they went in.
#include <algorithm>

#include <gmock/gmock.h>

#include "operators/device/device_columns.hpp"
#include "operators/device/device_key_words.hpp"
#include "operators/device/host_runner.hpp"
#include "operators/device/tried_runners.hpp"

namespace crossdock::operators {
namespace {

using namespace device_test;

struct KeySides {
  std::vector<Array> build{};
  std::vector<Array> probe{};
  int64_t build_rows = 0;
  int64_t probe_rows = 0;
};

DeviceKeySpec spec_of(const std::vector<LoadedColumn>& columns, int64_t rows, bool nulls_equal) {
  DeviceKeySpec spec{.rows = static_cast<uint64_t>(rows), .nulls_equal = nulls_equal};
  for (const LoadedColumn& column : columns) spec.columns.push_back(column.values);
  return spec;
}

std::vector<LoadedColumn> load_all(DeviceRunner& runner, const std::vector<Array>& arrays) {
  std::vector<LoadedColumn> loaded;
  for (const Array& array : arrays) loaded.push_back(load_array(runner, array));
  return loaded;
}

void expect_joins_by_keys(DeviceRunner& runner, const KeySides& sides, bool nulls_equal) {
  const std::vector<LoadedColumn> build = load_all(runner, sides.build);
  const std::vector<LoadedColumn> probe = load_all(runner, sides.probe);
  const auto keys = DeviceKeys::make(runner, spec_of(build, sides.build_rows, nulls_equal));
  ASSERT_TRUE(keys.ok()) << keys.error().message;
  const auto words = keys.value().match(spec_of(probe, sides.probe_rows, nulls_equal));
  ASSERT_TRUE(words.ok()) << words.error().message;
  expect_joins(runner,
               words.value().rows,
               keys.value().rows(),
               {.probe = table_of(sides.probe, sides.probe_rows),
                .build = table_of(sides.build, sides.build_rows),
                .keys = static_cast<int>(sides.build.size()),
                .nulls_equal = nulls_equal});
}

class DeviceKeysConcurrent : public ::testing::TestWithParam<TriedRunner> {};

INSTANTIATE_TEST_SUITE_P(Shapes, DeviceKeysConcurrent, ::testing::ValuesIn(tried_runners()));

// Every format alone, then two to four columns of any: packed by their types, packed by their values, numbered.
TEST_P(DeviceKeysConcurrent, joins_find_the_pairs_that_the_cpu_finds) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  const std::vector<std::string>& formats = device_formats();
  for (uint64_t seed = 0; seed < formats.size() + 12; ++seed) {
    Random random(seed);
    std::vector<std::string> chosen = {formats[seed % formats.size()]};
    while (seed >= formats.size() && chosen.size() < 2 + seed % 3)
      chosen.push_back(formats[random() % formats.size()]);
    const auto rows = [&] {
      const uint64_t kinds[] = {0, 1, 40, 150, 300};
      return static_cast<int64_t>(kinds[random() % std::size(kinds)]);
    };
    KeySides sides{.build_rows = seed == 3 ? 0 : rows(), .probe_rows = seed == 4 ? 0 : rows()};
    const uint64_t distinct = 2 + random() % 30;
    const double null_share = static_cast<double>(seed % 4) * 0.2;
    for (const std::string& format : chosen) {
      sides.build.push_back(device_array(format, sides.build_rows, distinct, null_share, random));
      sides.probe.push_back(device_array(format, sides.probe_rows, distinct, null_share, random));
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ", first key " + chosen[0]);
    expect_joins_by_keys(runner, sides, false);
    expect_joins_by_keys(runner, sides, true);
  }
}

TEST_P(DeviceKeysConcurrent, columns_of_chosen_rows_come_out_as_they_went_in) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  Random random(7);
  for (const std::string& format : device_formats()) {
    for (const int64_t rows : {int64_t{1}, int64_t{333}}) {
      const Array array = device_array(format, rows, 50, 0.3, random);
      const LoadedColumn column = load_array(runner, array);
      const Strings cells = arrow_test::cells(*table_of({array}, rows), 0);
      std::vector<uint64_t> chosen;
      Strings expected;
      for (int at = 0; at < 500; ++at) {
        chosen.push_back(random() % 5 == 0 ? kNoRow : random() % static_cast<uint64_t>(rows));
        expected.push_back(chosen.back() == kNoRow ? "null" : cells[chosen.back()]);
      }
      const DeviceBuffer numbers = load(runner, chosen);
      const auto gathered = gather_column_on_device(runner,
                                                    {.from = column.values,
                                                     .rows = numbers.words(),
                                                     .count = chosen.size(),
                                                     .can_miss = true});
      ASSERT_TRUE(gathered.ok()) << gathered.error().message;
      EXPECT_EQ(cells_of(runner, gathered.value(), format), expected) << format;
      const auto all = gather_column_on_device(
          runner, {.from = column.values, .count = static_cast<uint64_t>(rows)});
      ASSERT_TRUE(all.ok());
      EXPECT_EQ(cells_of(runner, all.value(), format), cells) << format;
    }
  }
}

// What is known of values decides how keys become words; the pairs are the same.
TEST(DeviceKeys, keys_are_as_narrow_as_they_can_be) {
  HostRunner runner;
  Random random(1);
  const auto form_of = [&](const std::vector<std::string>& formats, uint64_t distinct, bool equal) {
    std::vector<Array> arrays;
    for (const std::string& format : formats)
      arrays.push_back(device_array(format, 200, distinct, 0.1, random));
    const std::vector<LoadedColumn> columns = load_all(runner, arrays);
    const auto keys = DeviceKeys::make(runner, spec_of(columns, 200, equal));
    EXPECT_TRUE(keys.ok());
    return std::pair(keys.value().are_packed(), keys.value().are_numbered());
  };
  const std::pair packed(true, false), numbered(false, true);
  EXPECT_EQ(form_of({"l"}, 20, false), packed);
  EXPECT_EQ(form_of({"i", "S", "c", "b"}, 20, true), packed);
  EXPECT_EQ(form_of({"l"}, 20, true), numbered);  // with both extremes, 65 bits
  EXPECT_EQ(form_of({"i", "i"}, 20, false), packed);
  EXPECT_EQ(form_of({"l", "l"}, 20, false), numbered);
  EXPECT_EQ(form_of({"u"}, 20, false), numbered);
  EXPECT_EQ(form_of({"d:38,2"}, 20, false), numbered);

  const DeviceBuffer narrow = load<int64_t>(runner, {1'000'000'007, 1'000'000'001, -4});
  const DeviceValues column{.values = narrow.words()};
  const auto keys = DeviceKeys::make(runner, {.columns = {column, column}, .rows = 3});
  EXPECT_TRUE(keys.value().are_packed());  // by their values: 31 bits each
  const auto alone = DeviceKeys::make(runner, {.columns = {column}, .rows = 3});
  EXPECT_EQ(alone.value().rows().keys, narrow.words());  // no pass at all
}

TEST(DeviceKeys, columns_that_kernels_cannot_read_are_refused) {
  HostRunner runner;
  const DeviceBuffer word = load<int64_t>(runner, {1});
  const auto code_of = [&](const DeviceKeySpec& spec) {
    const auto keys = DeviceKeys::make(runner, spec);
    EXPECT_FALSE(keys.ok());
    return keys.ok() ? ErrorCode::kInternal : keys.error().code;
  };
  EXPECT_EQ(code_of({}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({.columns = std::vector<DeviceValues>(kKeyColumnsMax + 1)}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({.columns = {{.stored = Stored::kFloat16}}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({.columns = {{.stored = Stored::kByteViews}}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({.columns = {{.stored = Stored::kBytes32}}, .rows = (uint64_t{1} << 31) + 1}),
            ErrorCode::kTooManyRows);
  const DeviceValues integers{.values = word.words()};
  const auto keys = DeviceKeys::make(runner, {.columns = {integers}, .rows = 1});
  const auto other = keys.value().match({.columns = {{.stored = Stored::kFloat64}}, .rows = 1});
  EXPECT_EQ(other.error().code, ErrorCode::kKeyTypeMismatch);
  const auto more = keys.value().match({.columns = {integers, integers}, .rows = 1});
  EXPECT_EQ(more.error().code, ErrorCode::kInvalidArgument);
}

// With `bytes_max` more than the columns take, and the launch of this number failing.
Status number_join_and_gather(HostRunner& runner, uint64_t bytes_max, uint64_t fails_at) {
  Random random(3);
  const LoadedColumn column = load_array(runner, device_array("u", 3000, 900, 0.1, random));
  runner.bytes_max = runner.held_bytes() + bytes_max;
  runner.fails_at = fails_at;
  const DeviceKeySpec spec{.columns = {column.values}, .rows = 3000};
  CD_ASSIGN(const DeviceKeys keys, DeviceKeys::make(runner, spec));
  CD_ASSIGN(const DeviceKeyWords words, keys.match(spec));
  CD_ASSIGN(const DeviceHashTable table, DeviceHashTable::build(runner, keys.rows()));
  CD_ASSIGN(const DeviceMatches matches, table.join(words.rows, DeviceJoinKind::kFull));
  CD_ASSIGN(const DeviceColumnData strings,
            gather_column_on_device(runner,
                                    {.from = column.values,
                                     .rows = matches.build_rows.words(),
                                     .count = matches.count,
                                     .can_miss = true}));
  return {};
}

TEST(DeviceKeys, too_little_memory_and_failed_launches_leave_nothing_behind) {
  expect_all_given_back(number_join_and_gather);
}

}  // namespace
}  // namespace crossdock::operators
