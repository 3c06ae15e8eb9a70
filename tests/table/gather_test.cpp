// gather() against reading cell by cell, over every type, layout of batches and pattern of refs.
#include "table/gather.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "table/random_columns.hpp"
#include "table/validate.hpp"

namespace crossdock {
namespace {

using namespace arrow_test;

constexpr int64_t kNoGatherLimit = std::numeric_limits<int64_t>::max();

struct StoredRows {
  std::vector<Batch> batches;
  std::unique_ptr<RowStore> rows;
  std::vector<RowRef> refs;        // of all rows, in order
  std::vector<std::string> cells;  // what they hold
};

StoredRows store(const std::vector<Columns>& batches) {
  StoredRows stored;
  for (const Columns& columns : batches) stored.batches.push_back(make_batch(columns));
  stored.rows = std::make_unique<RowStore>(stored.batches[0].schema);
  for (const Batch& batch : stored.batches) {
    const RowRef first = stored.rows->add(batch).value();
    const DataType& type = batch.schema->fields[0].type;
    for (int64_t row = 0; row < batch.rows; ++row) {
      stored.refs.push_back(static_cast<RowRef>(first + row));
      stored.cells.push_back(cell(type, batch.columns[0], row));
    }
  }
  stored.rows->freeze();
  return stored;
}

// Positions among all rows, -1 for none.
using Pick = std::vector<int64_t>;

void expect_gathered(const StoredRows& stored, const Pick& pick) {
  std::vector<RowRef> refs;
  for (const int64_t p : pick) refs.push_back(p < 0 ? kNullRef : stored.refs[p]);
  const auto memory = Memory::create(kNoGatherLimit);
  const ChunkedColumn& column = stored.rows->column(0);
  const auto gathered = gather(column, refs, nullptr, *memory);
  ASSERT_TRUE(gathered.ok()) << gathered.error().message;
  const ColumnView& view = gathered.value().view;
  ASSERT_EQ(view.length, static_cast<int64_t>(pick.size()));
  int64_t nulls = 0;
  for (size_t i = 0; i < pick.size(); ++i) {
    const std::string expected = pick[i] < 0 ? "null" : stored.cells[pick[i]];
    ASSERT_EQ(cell(column.field->type, view, static_cast<int64_t>(i)), expected)
        << type_name(column.field->type) << " row " << i;
    nulls += view.is_valid(static_cast<int64_t>(i)) ? 0 : 1;
  }
  EXPECT_EQ(view.null_count, nulls);
  EXPECT_EQ(view.validity == nullptr, nulls == 0);
  const auto checked = validate_column(*column.field, view);
  EXPECT_TRUE(checked.ok()) << checked.error().message;
}

void expect_all_picks(const StoredRows& stored, Random& random) {
  const auto rows = static_cast<int64_t>(stored.refs.size());
  Pick random_pick;
  Pick with_missing;
  Pick in_order;
  Pick repeated;
  for (int64_t i = 0; i < rows + 70; ++i) {
    random_pick.push_back(static_cast<int64_t>(random() % rows));
    with_missing.push_back(random() % 3 == 0 ? -1 : random_pick.back());
    if (i < rows) in_order.push_back(i);
    repeated.push_back(i * i / (rows + 70) % rows);
  }
  Pick shifted(in_order.begin() + in_order.size() / 3, in_order.end());
  shifted.push_back(-1);
  for (const Pick& pick : {random_pick,
                           with_missing,
                           in_order,
                           repeated,
                           shifted,
                           Pick{},
                           Pick{-1, -1},
                           Pick{0},
                           Pick(130, -1)}) {
    expect_gathered(stored, pick);
    if (testing::Test::HasFatalFailure()) return;
  }
}

class GatherPlain : public testing::TestWithParam<std::string> {};

TEST_P(GatherPlain, OneBatch) {
  Random random(1);
  for (const double nulls : {0.0, 0.3, 1.0}) {
    for (const int64_t rows : {1, 63, 64, 300}) {
      expect_all_picks(store({{{"c", random_array(GetParam(), rows, nulls, random)}}}), random);
    }
  }
}

TEST_P(GatherPlain, ManyBatchesSomeWithNullsAndOffsets) {
  Random random(2);
  std::vector<Columns> batches;
  for (const double nulls : {0.0, 0.2, 0.0, 0.9}) {
    for (const int64_t rows : {200, 0, 67}) {
      const Array all = random_array(GetParam(), rows + 30, nulls, random);
      batches.push_back({{"c", sliced(all, 13, rows)}});
    }
  }
  expect_all_picks(store(batches), random);
}

TEST_P(GatherPlain, BatchesOfSeveralChunks) {
  Random random(3);
  std::vector<Columns> batches;
  for (const double nulls : {0.0, 0.1}) {
    const Array all = random_array(GetParam(), 40011, nulls, random);
    batches.push_back({{"c", sliced(all, 11, 40000)}});
  }
  expect_all_picks(store(batches), random);
}

TEST_P(GatherPlain, WithoutRowsAllAreNull) {
  Random random(4);
  const StoredRows stored = store({{{"c", random_array(GetParam(), 0, 0.0, random)}}});
  expect_gathered(stored, Pick{});
  expect_gathered(stored, Pick(70, -1));
}

INSTANTIATE_TEST_SUITE_P(Types, GatherPlain, testing::ValuesIn(plain_formats()));

TEST(GatherDictionary, SharesTheDictionary) {
  Random random(5);
  for (const std::string index : {"c", "S", "i", "l"}) {
    for (const std::string format : {"u", "vz", "i"}) {
      const Array values = random_array(format, 50, 0.1, random);
      std::vector<Columns> batches;
      for (const int64_t rows : {100, 0, 333}) {
        const Array all = random_encoded(index, values, rows + 9, 0.2, random);
        batches.push_back({{"c", sliced(all, 7, rows)}});
      }
      expect_all_picks(store(batches), random);
    }
  }
}

TEST(GatherDictionary, WithoutBatchesAllAreNull) {
  Random random(6);
  const Batch batch = make_batch({{"c", random_encoded("i", strings("u", {"x"}), 1, 0.0, random)}});
  RowStore rows(batch.schema);
  rows.freeze();
  const auto memory = Memory::create(kNoGatherLimit);
  const std::vector<RowRef> refs(3, kNullRef);
  const auto gathered = gather(rows.column(0), refs, nullptr, *memory);
  ASSERT_TRUE(gathered.ok());
  EXPECT_EQ(gathered.value().view.null_count, 3);
  EXPECT_EQ(cell(rows.column(0).field->type, gathered.value().view, 2), "null");
}

TEST(GatherViews, HeapsAreSharedOnlyWhenNeeded) {
  const StoredRows stored =
      store({{{"c", strings("vu", {"short", "long enough for a heap", std::nullopt})}},
             {{"c", strings("vu", {"another one that is long", "tiny"})}}});
  const auto memory = Memory::create(kNoGatherLimit);
  const auto keep = std::make_shared<int>(1);
  const std::vector<RowRef> inline_refs = {stored.refs[0], stored.refs[2], stored.refs[4]};
  const auto without = gather(stored.rows->column(0), inline_refs, keep, *memory);
  EXPECT_EQ(without.value().view.heap_count, 0);
  EXPECT_EQ(keep.use_count(), 1);
  const std::vector<RowRef> long_refs = {stored.refs[1], stored.refs[3]};
  const auto with = gather(stored.rows->column(0), long_refs, keep, *memory);
  EXPECT_EQ(with.value().view.heap_count, 2);
  EXPECT_EQ(keep.use_count(), 2);
  // The bytes are the producer's own.
  EXPECT_EQ(with.value().view.heaps[1], stored.batches[1].columns[0].heaps[0]);
}

TEST(GatherStrings, MoreThanTheOffsetsReachIsAnError) {
  const std::string text(int64_t{1} << 20, 'x');
  const StoredRows stored = store({{{"comment", strings("u", {text})}}});
  const auto memory = Memory::create(kNoGatherLimit);
  const std::vector<RowRef> refs(2048, 0);  // one byte too many
  const auto gathered = gather(stored.rows->column(0), refs, nullptr, *memory);
  ASSERT_FALSE(gathered.ok());
  EXPECT_EQ(gathered.error().code, ErrorCode::kValueOutOfRange);
  EXPECT_NE(gathered.error().message.find("comment"), std::string::npos);
  EXPECT_NE(gathered.error().message.find("large_utf8"), std::string::npos);
}

TEST(GatherMemory, IsReservedFromTheBudgetAndGivenBack) {
  Random random(7);
  const StoredRows stored = store({{{"c", random_array("l", 1000, 0.0, random)}}});
  const auto memory = Memory::create(8192);
  {
    const auto gathered = gather(stored.rows->column(0), stored.refs, nullptr, *memory);
    ASSERT_TRUE(gathered.ok());
    EXPECT_GE(memory->used_bytes(), 8000);
    const auto refused = gather(stored.rows->column(0), stored.refs, nullptr, *memory);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemoryBudget);
  }
  EXPECT_EQ(memory->used_bytes(), 0);
}

}  // namespace
}  // namespace crossdock
