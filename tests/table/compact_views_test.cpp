// compact_views() against reading cell by cell: the same values, from heaps that hold little else.
#include "table/compact_views.hpp"

#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "table/random_columns.hpp"
#include "table/validate.hpp"

namespace crossdock {
namespace {

using namespace arrow_test;

constexpr int64_t kUnlimitedBytes = std::numeric_limits<int64_t>::max();

Batch rows_of(const Batch& batch, int64_t begin, int64_t count) {
  Batch part = batch;
  part.rows = count;
  for (ColumnView& column : part.columns) column = slice(column, begin, count);
  return part;
}

void expect_same(const Batch& compact, const Batch& batch) {
  ASSERT_EQ(compact.rows, batch.rows);
  ASSERT_EQ(compact.columns.size(), batch.columns.size());
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const Field& field = batch.schema->fields[i];
    ASSERT_TRUE(validate_column(field, compact.columns[i]).ok());
    for (int64_t row = 0; row < batch.rows; ++row) {
      ASSERT_EQ(cell(field.type, compact.columns[i], row), cell(field.type, batch.columns[i], row))
          << field.name << " row " << row;
    }
  }
}

int64_t heap_bytes(const ColumnView& column) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < column.heap_count; ++i) bytes += column.heap_bytes[i];
  return bytes;
}

TEST(CompactViews, AFewRowsOfManyHaveHeapsOfTheirOwn) {
  Random random(1);
  const auto memory = Memory::create(kUnlimitedBytes);
  for (const std::string format : {"vu", "vz"}) {
    const Batch batch = make_batch({{"a", random_array(format, 4000, 0.2, random)},
                                    {"n", random_array("l", 4000, 0.2, random)},
                                    {"b", random_array(format, 4000, 0, random)}});
    for (const auto& [begin, count] : {std::pair<int64_t, int64_t>{0, 0}, {3, 50}, {3997, 3}}) {
      const Batch part = rows_of(batch, begin, count);
      const auto compact = compact_views(part, *memory);
      ASSERT_TRUE(compact.ok()) << compact.error().message;
      expect_same(compact.value(), part);
      EXPECT_EQ(compact.value().columns[1].values, part.columns[1].values);  // not of its concern
      for (const size_t column : {0, 2}) {
        EXPECT_LE(heap_bytes(compact.value().columns[column]), count * 40);
        EXPECT_GT(heap_bytes(part.columns[column]), 4000);
      }
    }
  }
}

TEST(CompactViews, KeepsHeapsThatAreInUse) {
  Random random(2);
  const auto memory = Memory::create(kUnlimitedBytes);
  const Batch batch = make_batch({{"a", random_array("vu", 1000, 0, random)}});
  const auto compact = compact_views(batch, *memory);
  ASSERT_TRUE(compact.ok());
  EXPECT_EQ(compact.value().columns[0].values, batch.columns[0].values);
  EXPECT_EQ(memory->used_bytes(), 0);
}

TEST(CompactViews, KeepsItsRowsAliveAndNoOthers) {
  Random random(3);
  const auto memory = Memory::create(kUnlimitedBytes);
  Batch part = rows_of(make_batch({{"a", random_array("vu", 4000, 0, random)}}), 7, 20);
  const std::weak_ptr<const void> inputs = part.owner;
  const auto compact = compact_views(std::move(part), *memory);
  ASSERT_TRUE(compact.ok());
  EXPECT_TRUE(inputs.expired());
  EXPECT_GT(memory->used_bytes(), 0);
}

TEST(CompactViews, WantsItsBytesOfTheBudget) {
  Random random(4);
  const auto memory = Memory::create(64);
  const Batch part = rows_of(make_batch({{"a", random_array("vu", 4000, 0, random)}}), 0, 100);
  const auto compact = compact_views(part, *memory);
  ASSERT_FALSE(compact.ok());
  EXPECT_EQ(compact.error().code, ErrorCode::kOutOfMemoryBudget);
}

TEST(CompactViews, OnlySchemasWithViewsNeedIt) {
  Random random(5);
  EXPECT_TRUE(has_views(*make_batch({{"a", random_array("vz", 1, 0, random)}}).schema));
  EXPECT_FALSE(has_views(*make_batch({{"a", random_array("u", 1, 0, random)}}).schema));
}

}  // namespace
}  // namespace crossdock
