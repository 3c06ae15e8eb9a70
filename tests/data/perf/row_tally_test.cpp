// What a tally notices of rows that are not as they were sent.
#include "data/perf/row_tally.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace crossdock::perf {
namespace {

class Tally : public testing::Test {
 protected:
  Batch part(int64_t begin, int64_t count) const {
    Batch batch = table_;
    batch.rows = count;
    for (ColumnView& column : batch.columns) column = slice(column, begin, count);
    return batch;
  }
  uint64_t wrong_of(const RowTally& tally) const {
    return tally.wrong(rows_->totals(table_, table_.rows, 1));
  }

  std::shared_ptr<Memory> memory_ = Memory::create(std::numeric_limits<int64_t>::max());
  std::shared_ptr<const MadeRows> rows_ =
      MadeRows::make({.columns = 3, .table_rows = 1000}, *memory_).value();
  Batch table_ = rows_->table(5, *memory_).value();
};

TEST_F(Tally, RightRowsInAnyOrderAreRight) {
  RowTally tally(rows_, 1);
  RowTally other(rows_, 1);
  tally.take(part(600, 400), 0, 5, Checks::kRows);
  other.take(part(0, 600), 0, 5, Checks::kSums);
  tally.add(other);
  EXPECT_EQ(wrong_of(tally), 0u);
  EXPECT_EQ(tally.rows(), 1000u);
}

TEST_F(Tally, LostDoubledAndExchangedRowsAreWrong) {
  RowTally lost(rows_, 1);
  lost.take(part(0, 990), 0, 5, Checks::kSums);
  EXPECT_EQ(wrong_of(lost), 10u);
  RowTally doubled(rows_, 1);
  doubled.take(part(0, 1000), 0, 5, Checks::kSums);
  doubled.take(part(0, 3), 0, 5, Checks::kSums);
  EXPECT_EQ(wrong_of(doubled), 3u);
  RowTally instead(rows_, 1);
  instead.take(part(0, 999), 0, 5, Checks::kSums);
  instead.take(part(0, 1), 0, 5, Checks::kSums);
  EXPECT_EQ(wrong_of(instead), 1u);
}

TEST_F(Tally, ChangedValuesAreWrong) {
  for (const size_t column : {0u, 1u, 2u}) {
    for (const Checks checks : {Checks::kSums, Checks::kRows}) {
      RowTally tally(rows_, 1);
      std::vector<uint64_t> values(table_.columns[column].data<uint64_t>(),
                                   table_.columns[column].data<uint64_t>() + 1000);
      values[500] ^= 1 << 20;
      Batch changed = table_;
      changed.columns[column].values = reinterpret_cast<const uint8_t*>(values.data());
      tally.take(changed, 0, 5, checks);
      EXPECT_EQ(wrong_of(tally), 1u);
    }
  }
}

TEST_F(Tally, RowsUnderAWrongSourceAreWrong) {
  RowTally tally(rows_, 2);
  tally.take(part(0, 10), 7, 5, Checks::kSums);  // no such source
  tally.take(part(0, 20), 1, 4, Checks::kRows);  // made by another
  const std::vector<RowTotals> nothing(2, {0, {0, 0, 0}});
  EXPECT_GE(tally.wrong(nothing), 30u);
}

}  // namespace
}  // namespace crossdock::perf
