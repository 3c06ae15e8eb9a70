// Windows on four workers: partitions within and across the workers' slices, against plain loops; runs that are
// cancelled, and runs that have too little memory. The thread sanitizer runs these.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>

#include "execution/running.hpp"

namespace crossdock::execution {
namespace {

using namespace arrow_test;
using namespace query_test;
using operators::WindowFunction;

constexpr int64_t kWindowedRows = 300'000;

// Column "t" has each number below kWindowedRows once; "k" says which of `partitions` a row is in, or is null.
TablePtr windowed_table(int64_t partitions) {
  constexpr int64_t kPieceRows = 37'001;
  std::vector<Columns> batches;
  for (int64_t begin = 0; begin < kWindowedRows; begin += kPieceRows) {
    Optionals<int64_t> key;
    Optionals<int64_t> time;
    Optionals<int64_t> value;
    for (int64_t i = begin; i < std::min(kWindowedRows, begin + kPieceRows); ++i) {
      const int64_t t = i * 7919 % kWindowedRows;
      key.push_back(t % 13 == 0 ? kNone : std::optional<int64_t>(t % partitions));
      time.push_back(t);
      value.push_back(t % 5 == 0 ? kNone : std::optional<int64_t>(t % 1'000 - 300));
    }
    batches.push_back({{"k", fixed<int64_t>("l", key)},
                       {"t", fixed<int64_t>("l", time)},
                       {"v", fixed<int64_t>("l", value)}});
  }
  return make_table(std::move(batches));
}

operators::WindowItem window_item(WindowFunction function, std::string name) {
  operators::WindowItem item;
  item.function = function;
  item.column = 2;
  item.name = std::move(name);
  return item;
}

operators::WindowFrame rows_frame(int64_t start, int64_t end) {
  operators::WindowFrame frame;
  frame.start.offset = start;
  frame.end.offset = end;
  return frame;
}

plan::NodePtr windowed(int64_t partitions) {
  operators::WindowSpec spec;
  spec.partition = {0};
  spec.orders = {{1, false, false}};
  spec.items = {window_item(WindowFunction::kRowNumber, "n"),
                window_item(WindowFunction::kSum, "running"),
                window_item(WindowFunction::kSum, "sliding"),
                window_item(WindowFunction::kMax, "most"),
                window_item(WindowFunction::kLag, "before")};
  spec.items[2].frame = rows_frame(-100, 50);
  spec.items[3].frame = rows_frame(-9'000, 0);
  return node_of(plan::make_window(scan(windowed_table(partitions)), spec));
}

struct OrderedRow {
  int64_t time;
  std::optional<int64_t> value;
};

// The rows of each partition in order; -1 stands for null.
std::map<int64_t, std::vector<OrderedRow>> ordered_partitions(int64_t partitions) {
  std::map<int64_t, std::vector<OrderedRow>> all;
  for (int64_t t = 0; t < kWindowedRows; ++t) {
    all[t % 13 == 0 ? -1 : t % partitions].push_back(
        {t, t % 5 == 0 ? std::nullopt : std::optional<int64_t>(t % 1'000 - 300)});
  }
  return all;
}

std::vector<IntegerRow> expected_rows(int64_t partitions) {
  std::vector<IntegerRow> rows;
  rows.reserve(kWindowedRows);
  for (const auto& [key, in_order] : ordered_partitions(partitions)) {
    const auto count = static_cast<int64_t>(in_order.size());
    std::optional<int64_t> running;
    std::vector<int64_t> sums(1, 0);
    std::vector<int64_t> values(1, 0);
    for (const OrderedRow& row : in_order) {
      sums.push_back(sums.back() + row.value.value_or(0));
      values.push_back(values.back() + (row.value.has_value() ? 1 : 0));
    }
    for (int64_t i = 0; i < count; ++i) {
      const OrderedRow& row = in_order[i];
      if (row.value.has_value()) running = running.value_or(0) + *row.value;
      const int64_t begin = std::max<int64_t>(0, i - 100);
      const int64_t end = std::min(count, i + 51);
      std::optional<int64_t> sliding;
      if (values[end] > values[begin]) sliding = sums[end] - sums[begin];
      rows.push_back({key < 0 ? kNone : std::optional<int64_t>(key),
                      row.time,
                      row.value,
                      i + 1,
                      running,
                      sliding,
                      kNone,
                      i == 0 ? kNone : in_order[i - 1].value});
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(QueryWindowConcurrent, FunctionsAreThoseOfALoop) {
  for (const int64_t partitions : {int64_t{1}, int64_t{100'000}}) {
    Setting setting;
    const Outcome outcome = run(windowed(partitions), setting);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
    EXPECT_EQ(outcome.rows, kWindowedRows);
    std::vector<IntegerRow> sorted = sorted_integers(outcome);
    for (IntegerRow& row : sorted) row[6].reset();
    EXPECT_EQ(sorted, expected_rows(partitions)) << partitions;
  }
}

plan::NodePtr first_rows_of(int64_t partitions, WindowFunction function) {
  operators::WindowSpec spec;
  spec.partition = {0};
  spec.orders = {{1, true, false}};
  spec.items = {window_item(function, "n")};
  const bool is_value = function == WindowFunction::kLastValue;
  spec.first_rows = is_value ? 1 : 3;
  if (is_value) {
    spec.items[0].ignore_nulls = true;
    spec.items[0].frame.emplace();
    spec.items[0].frame->start.unbounded = spec.items[0].frame->end.unbounded = true;
  }
  return node_of(plan::make_window(scan(windowed_table(partitions)), spec));
}

TEST(QueryWindowConcurrent, TheFirstRowsThatAreAskedForAreThere) {
  for (const int64_t partitions : {int64_t{1}, int64_t{7}, int64_t{200'000}}) {
    Setting setting;
    const Outcome outcome = run(first_rows_of(partitions, WindowFunction::kRowNumber), setting);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
    if (partitions <= 7) {
      EXPECT_LT(outcome.rows, kWindowedRows / 10);
    }
    std::map<int64_t, std::vector<int64_t>> times;  // by partition, by row number
    for (const IntegerRow& row : sorted_integers(outcome)) {
      if (*row[3] > 3) continue;
      std::vector<int64_t>& of_partition = times[row[0].value_or(-1)];
      of_partition.resize(3, -1);
      of_partition[*row[3] - 1] = *row[1];
    }
    std::map<int64_t, std::vector<int64_t>> expected;
    for (const auto& [key, in_order] : ordered_partitions(partitions)) {
      const auto count = static_cast<int64_t>(in_order.size());
      std::vector<int64_t>& of_partition = expected[key];
      of_partition.resize(3, -1);
      for (int64_t i = 0; i < std::min<int64_t>(3, count); ++i) {
        of_partition[i] = in_order[count - 1 - i].time;
      }
    }
    EXPECT_EQ(times, expected) << partitions;
  }
}

TEST(QueryWindowConcurrent, LastValuesPassOverNulls) {
  Setting setting;
  const Outcome outcome = run(first_rows_of(7, WindowFunction::kLastValue), setting);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error().message;
  EXPECT_LT(outcome.rows, kWindowedRows / 2);
  std::map<int64_t, std::optional<int64_t>> values;
  for (const IntegerRow& row : sorted_integers(outcome)) values[row[0].value_or(-1)] = row[3];
  std::map<int64_t, std::optional<int64_t>> expected;
  for (const auto& [key, in_order] : ordered_partitions(7)) {
    for (const OrderedRow& row : in_order) {
      if (row.value.has_value() && !expected.contains(key)) expected[key] = row.value;
    }
  }
  EXPECT_EQ(values, expected);
}

TEST(QueryWindowConcurrent, FirstRowsGoWithFewFunctions) {
  operators::WindowSpec spec;
  spec.partition = {0};
  spec.items = {window_item(WindowFunction::kRowNumber, "n"),
                window_item(WindowFunction::kSum, "s")};
  spec.first_rows = 2;
  EXPECT_EQ(plan::make_window(scan(windowed_table(1)), spec).error().code,
            ErrorCode::kInvalidArgument);
  spec.items.pop_back();
  spec.first_rows = 0;
  EXPECT_EQ(plan::make_window(scan(windowed_table(1)), spec).error().code,
            ErrorCode::kInvalidArgument);
}

TEST(QueryWindowConcurrent, ACancelledRunEnds) {
  Setting setting;
  setting.cancel.set();
  const Outcome outcome = run(windowed(7), setting);
  ASSERT_FALSE(outcome.status.ok());
  EXPECT_EQ(outcome.status.error().code, ErrorCode::kCancelled);
}

TEST(QueryWindowConcurrent, TooLittleMemoryIsAnErrorAndGivesAllBack) {
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{8} << 20, int64_t{24} << 20}) {
    Setting setting;
    setting.memory = Memory::create(bytes);
    const Outcome outcome = run(windowed(7), setting);
    if (outcome.status.ok()) continue;
    EXPECT_EQ(outcome.status.error().code, ErrorCode::kOutOfMemoryBudget);
    EXPECT_EQ(setting.memory->used_bytes(), 0);
  }
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{4} << 20, int64_t{9} << 20}) {
    Setting setting;
    setting.memory = Memory::create(bytes);
    const Outcome outcome = run(first_rows_of(100'000, WindowFunction::kRowNumber), setting);
    if (outcome.status.ok()) continue;
    EXPECT_EQ(outcome.status.error().code, ErrorCode::kOutOfMemoryBudget);
    EXPECT_EQ(setting.memory->used_bytes(), 0);
  }
}

}  // namespace
}  // namespace crossdock::execution
