// Rows that are made from their numbers, and their sums.
#include "data/perf/made_rows.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <gtest/gtest.h>

namespace crossdock::perf {
namespace {

std::shared_ptr<Memory> memory() { return Memory::create(std::numeric_limits<int64_t>::max()); }

std::shared_ptr<const MadeRows> rows_of(const MadeRowsSpec& spec) {
  return MadeRows::make(spec, *memory()).value();
}

TEST(MadeRows, ATableHasTheValuesOfItsRows) {
  const auto rows = rows_of({.columns = 4, .table_rows = 100, .seed = 7});
  const auto budget = memory();
  const Batch table = rows->table(3, *budget).value();
  ASSERT_EQ(table.columns.size(), 4u);
  for (int64_t row = 0; row < 100; ++row) {
    for (int column = 0; column < 4; ++column) {
      EXPECT_EQ(table.columns[static_cast<size_t>(column)].data<uint64_t>()[row],
                rows->value(3, static_cast<uint64_t>(row), column));
    }
    EXPECT_EQ(table.columns[1].data<int64_t>()[row], (int64_t{3} << 40) + row);
    EXPECT_GE(table.columns[0].data<int64_t>()[row], 0);
  }
}

TEST(MadeRows, TotalsCountTheTableOverAndOver) {
  const auto rows = rows_of({.columns = 3, .table_rows = 50});
  const auto budget = memory();
  const Batch table = rows->table(0, *budget).value();
  for (const int64_t sent : {0, 1, 49, 50, 51, 128}) {
    std::vector<RowTotals> slow(4, {0, {0, 0, 0}});
    for (int64_t n = 0; n < sent; ++n) {
      const auto row = static_cast<uint64_t>(n % 50);
      RowTotals& totals = slow[rows->value(0, row, 0) % 4];
      totals.add({1, {rows->value(0, row, 0), rows->value(0, row, 1), rows->value(0, row, 2)}});
    }
    EXPECT_EQ(rows->totals(table, sent, 4), slow) << sent;
  }
}

TEST(MadeRows, KeysOfZipfsLawAreAsFrequentAsItSays) {
  const auto rows = rows_of({.columns = 2, .table_rows = 200'000, .zipf_theta = 1});
  std::map<uint64_t, int> counts;
  for (uint64_t row = 0; row < 200'000; ++row) ++counts[rows->value(0, row, 0)];
  int most = 0;
  for (const auto& [key, count] : counts) most = std::max(most, count);
  // The first of 2^20 keys has a share of 1 / (ln 2^20 + 0.577) = 0.0693.
  EXPECT_NEAR(most / 200'000.0, 0.0693, 0.003);
  EXPECT_GT(counts.size(), 20'000u);
}

TEST(MadeRows, RefusesWhatItCannotMake) {
  const auto budget = memory();
  for (const MadeRowsSpec& spec : {MadeRowsSpec{.columns = 1, .table_rows = 1},
                                   MadeRowsSpec{.columns = 1000, .table_rows = 1},
                                   MadeRowsSpec{.columns = 2, .table_rows = 0},
                                   MadeRowsSpec{.columns = 2, .table_rows = 1, .zipf_theta = -1}}) {
    const auto refused = MadeRows::make(spec, *budget);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
  const auto little = Memory::create(1000);
  const auto rows = rows_of({.columns = 2, .table_rows = 1000});
  EXPECT_EQ(rows->table(0, *little).error().code, ErrorCode::kOutOfMemoryBudget);
}

}  // namespace
}  // namespace crossdock::perf
