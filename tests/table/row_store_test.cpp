// Refs name the rows they should, over any batches; limits are errors.
#include "table/row_store.hpp"

#include <gtest/gtest.h>

#include "table/random_columns.hpp"

namespace crossdock {
namespace {

using namespace arrow_test;

Columns numbers(int64_t rows, Random& random) {
  return {{"id", random_array("i", rows, 0.0, random)},
          {"text", random_array("u", rows, 0.3, random)}};
}

TEST(RowStore, RefsNameTheRowsOfEveryBatch) {
  Random random(1);
  const std::vector<int64_t> sizes = {3, 0, 40000, 1, 1 << kChunkRowBits, 17};
  std::vector<Batch> batches;
  for (const int64_t rows : sizes) batches.push_back(make_batch(numbers(rows, random)));
  RowStore store(batches[0].schema);
  std::vector<RowRef> firsts;
  for (const Batch& batch : batches) {
    auto first = store.add(batch);
    ASSERT_TRUE(first.ok()) << first.error().message;
    firsts.push_back(first.value());
  }
  store.freeze();
  EXPECT_EQ(store.rows(), 3 + 40000 + 1 + (1 << kChunkRowBits) + 17);
  for (int c = 0; c < 2; ++c) {
    const ChunkedColumn& column = store.column(c);
    EXPECT_EQ(column.any_nulls, c == 1);
    for (size_t b = 0; b < batches.size(); ++b) {
      for (int64_t row = 0; row < sizes[b]; row += 1 + sizes[b] / 7) {
        const auto ref = static_cast<RowRef>(firsts[b] + row);
        EXPECT_EQ(store.first_ref(static_cast<int>(b)), firsts[b]);
        EXPECT_EQ(cell(column.field->type, column.chunk(ref), ref & kChunkRowMask),
                  cell(column.field->type, batches[b].columns[c], row));
      }
    }
  }
}

TEST(RowStore, OneBatchNeedsNoLookup) {
  Random random(2);
  const Batch batch = make_batch(numbers(50000, random));
  RowStore store(batch.schema);
  ASSERT_TRUE(store.add(batch).ok());
  store.freeze();
  EXPECT_TRUE(store.column(0).one_origin);
  EXPECT_EQ(store.column(0).chunks.size(), 4U);
}

// Outer joins make such columns of rows without a partner, in batches of one worker.
TEST(RowStore, TheEmptyDictionaryOfNullsIsNoDictionary) {
  const Batch of_nulls = make_batch({{"d", encoded("i", {kNone, kNone}, strings("u", {}))}});
  const Batch of_values =
      make_batch({{"d", encoded("i", {1, kNone, 0}, strings("u", {"x", "y"}))}});
  for (const bool nulls_first : {true, false}) {
    RowStore store(of_nulls.schema);
    ASSERT_TRUE(store.add(nulls_first ? of_nulls : of_values).ok());
    ASSERT_TRUE(store.add(nulls_first ? of_values : of_nulls).ok());
    store.freeze();
    EXPECT_EQ(store.column(0).dictionary, of_values.columns[0].dictionary);
  }
}

TEST(RowStore, WithoutBatchesColumnsHaveNoRows) {
  Random random(3);
  const Array values = strings("u", {"x"});
  const Batch batch = make_batch({{"d", random_encoded("i", values, 5, 0.0, random)}});
  RowStore store(batch.schema);
  store.freeze();
  EXPECT_EQ(store.column(0).any_ref, kNullRef);
  ASSERT_NE(store.column(0).dictionary, nullptr);
  EXPECT_EQ(store.column(0).dictionary->length, 0);
}

TEST(RowStore, TooManyRowsIsAnError) {
  const auto schema = std::make_shared<const Schema>();
  RowStore store(schema);
  Batch half{schema, int64_t{1} << 31, {}, nullptr};
  ASSERT_TRUE(store.add(half).ok());
  const auto refused = store.add(half);  // its last row would have the ref that names no row
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooManyRows);
  EXPECT_NE(refused.error().message.find("larger"), std::string::npos) << refused.error().message;
  half.rows -= 1;
  EXPECT_TRUE(store.add(half).ok());
}

TEST(RowStore, TooManyBatchesIsAnError) {
  const auto schema = std::make_shared<const Schema>();
  RowStore store(schema);
  const Batch one{schema, 1, {}, nullptr};
  for (int i = 0; i < 1 << 18; ++i) ASSERT_TRUE(store.add(one).ok());
  EXPECT_FALSE(store.add(one).ok());
}

}  // namespace
}  // namespace crossdock
