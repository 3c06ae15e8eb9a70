// Sorts on a device: the order in which the CPU's stable sort puts the rows, by columns of any type.
#include <algorithm>

#include <gmock/gmock.h>

#include "operators/device/device_columns.hpp"
#include "operators/device/device_sort.hpp"
#include "operators/device/host_runner.hpp"
#include "operators/device/tried_runners.hpp"
#include "operators/sort/sorting.hpp"

namespace crossdock::operators {
namespace {

using namespace device_test;

struct SortInput {
  std::vector<Array> columns{};
  std::vector<SortKey> keys{};  // by column
  int64_t rows = 0;

  void append(const std::string& format, uint64_t distinct, double null_share, Random& random) {
    keys.push_back({static_cast<int>(columns.size()), random() % 2 == 0, random() % 2 == 0});
    columns.push_back(device_array(format, rows, distinct, null_share, random));
  }
};

std::vector<uint64_t> cpu_order(const SortInput& input) {
  SortSpec spec{.keys = input.keys,
                .output = {{static_cast<int>(input.columns.size()), "n"}},
                .stable = true,
                .row_index = "at"};
  const auto sorted = arrow_test::run_sort(spec, table_of(input.columns, input.rows), 1);
  EXPECT_TRUE(sorted.ok()) << sorted.error().message;
  return {sorted.value().rows.begin(), sorted.value().rows.end()};
}

struct LoadedSort {
  std::vector<LoadedColumn> columns;
  DeviceSortSpec spec;
};

LoadedSort load_sort(DeviceRunner& runner, const SortInput& input) {
  LoadedSort loaded;
  loaded.spec.rows = static_cast<uint64_t>(input.rows);
  for (size_t at = 0; at < input.columns.size(); ++at) {
    loaded.columns.push_back(load_array(runner, input.columns[at]));
    loaded.spec.columns.push_back(
        {loaded.columns[at].values, input.keys[at].descending, input.keys[at].nulls_first});
  }
  return loaded;
}

std::vector<uint64_t> device_order(DeviceRunner& runner,
                                   const SortInput& input,
                                   uint64_t rows_needed) {
  LoadedSort loaded = load_sort(runner, input);
  loaded.spec.rows_needed = rows_needed;
  const auto sorted = sort_on_device(runner, loaded.spec);
  EXPECT_TRUE(sorted.ok()) << sorted.error().message;
  return values_of<uint64_t>(runner, sorted.value(), loaded.spec.rows);
}

class DeviceSortConcurrent : public ::testing::TestWithParam<TriedRunner> {};

INSTANTIATE_TEST_SUITE_P(Shapes, DeviceSortConcurrent, ::testing::ValuesIn(tried_runners()));

// Every format alone, then two to five columns of any, with few values and with many; a part of the rows, too.
TEST_P(DeviceSortConcurrent, rows_stand_in_the_order_of_the_cpu) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  const std::vector<std::string>& formats = device_formats();
  for (uint64_t seed = 0; seed < formats.size() + 8; ++seed) {
    Random random(seed);
    const uint64_t kinds[] = {0, 1, 2, 50, 400, GetParam().rows(3000)};
    SortInput input{.rows = static_cast<int64_t>(kinds[seed < formats.size() ? 4 : random() % 6])};
    const bool is_single = seed < formats.size();
    for (uint64_t left = is_single ? 1 : 2 + seed % 4; left > 0; --left) {
      const std::string& format = formats[is_single ? seed : random() % formats.size()];
      input.append(format, 2 + random() % 60, static_cast<double>(random() % 3) * 0.2, random);
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ", first key " + input.columns[0].format);
    const std::vector<uint64_t> expected = cpu_order(input);
    EXPECT_EQ(device_order(runner, input, UINT64_MAX), expected);
    for (const uint64_t rows_needed : {expected.size() / 3, uint64_t{0}}) {
      std::vector<uint64_t> order = device_order(runner, input, rows_needed);
      ASSERT_EQ(order.size(), expected.size());
      EXPECT_TRUE(std::equal(
          order.begin(), order.begin() + static_cast<int64_t>(rows_needed), expected.begin()));
      std::ranges::sort(order);  // the others are there all the same
      EXPECT_EQ(std::ranges::adjacent_find(order), order.end());
    }
  }
}

uint64_t launches_of(const std::vector<std::string>& formats, uint64_t distinct) {
  HostRunner runner;
  Random random(1);
  SortInput input{.rows = 300};
  for (const std::string& format : formats) input.append(format, distinct, 0, random);
  device_order(runner, input, UINT64_MAX);
  return runner.launches();
}

TEST(DeviceSort, columns_that_have_room_in_one_word_are_sorted_at_once) {
  const uint64_t once = launches_of({"l"}, 40);
  EXPECT_EQ(launches_of({"i", "S", "c", "b"}, 40), once);
  EXPECT_GT(launches_of({"l", "b"}, 40), once);  // with both extremes, 65 bits
}

TEST(DeviceSort, columns_without_ties_are_not_read_on) {
  HostRunner runner;
  std::vector<int64_t> numbers;
  for (int64_t row = 0; row < 300; ++row) numbers.push_back(row * 7919 % 300);
  const DeviceBuffer unique = load(runner, numbers);
  const DeviceSortColumn column{.values = {.values = unique.words()}};
  // No kernel reads the strings, which are nowhere.
  const DeviceSortColumn strings{.values = {.stored = Stored::kBytes32}};
  const auto sorted =
      sort_on_device(runner, {.columns = {column, strings}, .rows = numbers.size()});
  ASSERT_TRUE(sorted.ok());
  const auto rows = values_of<uint64_t>(runner, sorted.value(), numbers.size());
  for (size_t at = 0; at < rows.size(); ++at)
    EXPECT_EQ(numbers[rows[at]], static_cast<int64_t>(at));
  const DeviceSortColumn halves{.values = {.stored = Stored::kFloat16}};
  const auto refused = sort_on_device(runner, {.columns = {halves}});
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
}

TEST(DeviceSort, too_little_memory_and_failed_launches_leave_nothing_behind) {
  const auto run = [](HostRunner& runner, uint64_t bytes_max, uint64_t fails_at) -> Status {
    Random random(5);
    SortInput input{.rows = 2000};
    for (const char* format : {"u", "d:38,2"}) input.append(format, 30, 0.1, random);
    LoadedSort loaded = load_sort(runner, input);
    loaded.spec.rows_needed = 900;
    runner.bytes_max = runner.held_bytes() + bytes_max;
    runner.fails_at = fails_at;
    CD_ASSIGN(const DeviceBuffer rows, sort_on_device(runner, loaded.spec));
    return {};
  };
  expect_all_given_back(run);
}

}  // namespace
}  // namespace crossdock::operators
