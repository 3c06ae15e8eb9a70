// Zones of columns against a look at every value: over ends of batches, with NULLs, of any type that has them.
#include "table/column_zones.hpp"

#include <gtest/gtest.h>

#include "table/random_columns.hpp"

namespace crossdock {
namespace {

using namespace arrow_test;

constexpr int64_t kPieceRows = 10'007;  // no zone ends where a batch does

// Of pieces of kPieceRows rows: one column, the value of each row, or NULL.
template <class T>
TablePtr table_of(const std::string& format, const Optionals<T>& values) {
  std::vector<Columns> batches;
  for (size_t begin = 0; begin < values.size(); begin += kPieceRows) {
    const size_t end = std::min(values.size(), begin + kPieceRows);
    batches.push_back(
        {{"x", fixed<T>(format, Optionals<T>(values.begin() + begin, values.begin() + end))}});
  }
  return make_table(std::move(batches));
}

template <class T>
Optionals<T> ascending(int64_t rows) {
  Optionals<T> values;
  for (int64_t i = 0; i < rows; ++i) {
    values.push_back(i % 7 == 0 ? std::optional<T>() : static_cast<T>(i / 1000));
  }
  return values;
}

template <class T>
void expect_ranges(const std::string& format, const Optionals<T>& values) {
  const TablePtr table = table_of(format, values);
  const RowsInBatches batches(table->batches);
  ColumnZones& zones = *table->zones[0];
  ASSERT_TRUE(zones.are_narrow(batches, 0)) << format;
  for (int64_t zone = 0; zone * kZoneRows < table->rows; ++zone) {
    ValueRange expected;
    for (int64_t i = zone * kZoneRows; i < std::min(table->rows, (zone + 1) * kZoneRows); ++i) {
      if (values[static_cast<size_t>(i)].has_value()) expected.add(*values[static_cast<size_t>(i)]);
    }
    for (int time = 0; time < 2; ++time) {
      const ValueRange range = zones.range(batches, 0, zone);
      EXPECT_EQ(range.empty, expected.empty) << format << " zone " << zone;
      EXPECT_TRUE(range.min == expected.min && range.max == expected.max) << format << zone;
    }
  }
}

TEST(ColumnZones, RangesAreThoseOfTheValues) {
  constexpr int64_t kZonedRows = 200'000;
  expect_ranges<int64_t>("l", ascending<int64_t>(kZonedRows));
  expect_ranges<uint64_t>("L", ascending<uint64_t>(kZonedRows));
  expect_ranges<int16_t>("s", ascending<int16_t>(kZonedRows));
  expect_ranges<int32_t>("tdD", ascending<int32_t>(kZonedRows));
  expect_ranges<int64_t>("tsu:", ascending<int64_t>(kZonedRows));
  expect_ranges<Int128>("d:20,2", ascending<Int128>(kZonedRows));
  Optionals<int64_t> missing = ascending<int64_t>(kZonedRows);
  std::fill(missing.begin(), missing.begin() + 2 * kZoneRows, std::nullopt);
  expect_ranges<int64_t>("l", missing);
  Optionals<uint64_t> large = ascending<uint64_t>(kZonedRows);
  large.back() = UINT64_MAX;
  expect_ranges<uint64_t>("L", large);
}

TEST(ColumnZones, ValuesWithoutOrderHaveWideOnes) {
  Random random(3);
  Optionals<int64_t> values;
  for (int64_t i = 0; i < 200'000; ++i) values.push_back(static_cast<int64_t>(random() % 1'000));
  const TablePtr table = table_of<int64_t>("l", values);
  EXPECT_FALSE(table->zones[0]->are_narrow(RowsInBatches(table->batches), 0));
}

TEST(ColumnZones, FewRowsHaveNone) {
  const TablePtr table = table_of<int64_t>("l", ascending<int64_t>(50'000));
  EXPECT_FALSE(table->zones[0]->are_narrow(RowsInBatches(table->batches), 0));
}

TEST(ColumnZones, AreOfNumbersAndInstants) {
  const TablePtr table = make_table({{{"real", fixed<double>("g", {1.5})},
                                      {"text", strings("u", {"a"})},
                                      {"whole", fixed<int64_t>("l", {1})}}});
  ASSERT_EQ(table->zones.size(), 3U);
  EXPECT_EQ(table->zones[0], nullptr);
  EXPECT_EQ(table->zones[1], nullptr);
  EXPECT_NE(table->zones[2], nullptr);
}

TEST(ColumnZones, TablesSideBySideKeepThem) {
  const TablePtr left = table_of<int64_t>("l", ascending<int64_t>(200'000));
  const TablePtr right = make_table({{{"y", fixed<int64_t>("l", ascending<int64_t>(200'000))}}});
  const Table both = side_by_side(*left, *right);
  ASSERT_EQ(both.zones.size(), 2U);
  EXPECT_EQ(both.zones[0], left->zones[0]);
  EXPECT_EQ(both.zones[1], right->zones[0]);
}

}  // namespace
}  // namespace crossdock
