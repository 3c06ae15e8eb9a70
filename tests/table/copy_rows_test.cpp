// copy_rows() against reading cell by cell, over every type, slice, and layout of strings.
#include "table/copy_rows.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "table/random_columns.hpp"
#include "table/validate.hpp"

namespace crossdock {
namespace {

using namespace arrow_test;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

void expect_copied(const Batch& batch, const SchemaPtr& target) {
  const auto memory = Memory::create(kNoLimit);
  const auto copied = copy_rows(batch, target, *memory);
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  ASSERT_EQ(copied.value().rows, batch.rows);
  const DataType& type = target->fields[0].type;
  const ColumnView& view = copied.value().columns[0];
  ASSERT_TRUE(validate_column(target->fields[0], view).ok());
  for (int64_t row = 0; row < batch.rows; ++row) {
    ASSERT_EQ(cell(type, view, row), cell(batch.schema->fields[0].type, batch.columns[0], row))
        << type_name(type) << " row " << row;
  }
}

Batch sliced(const Batch& batch, int64_t begin, int64_t count) {
  Batch part = batch;
  part.rows = count;
  part.columns[0] = slice(batch.columns[0], begin, count);
  return part;
}

TEST(CopyRows, EveryTypeAndSlice) {
  Random random(1);
  for (const std::string& format : plain_formats()) {
    const Batch batch = make_batch({{"c", random_array(format, 300, 0.2, random)}});
    expect_copied(batch, batch.schema);
    expect_copied(sliced(batch, 3, 130), batch.schema);
    expect_copied(sliced(batch, 64, 0), batch.schema);
  }
}

TEST(CopyRows, StringsInAnyLayoutOfStrings) {
  Random random(2);
  for (const auto& layouts : {Strings{"u", "U", "vu"}, Strings{"z", "Z", "vz"}}) {
    for (const std::string& from : layouts) {
      const Batch batch = make_batch({{"c", random_array(from, 200, 0.1, random)}});
      for (const std::string& to : layouts) {
        const Batch target = make_batch({{"c", random_array(to, 1, 0, random)}});
        expect_copied(batch, target.schema);
        expect_copied(sliced(batch, 5, 90), target.schema);
      }
    }
  }
}

TEST(CopyRows, RefusesOtherTypesAndTooMuchMemory) {
  Random random(3);
  const Batch numbers = make_batch({{"c", random_array("l", 100, 0, random)}});
  const Batch strings = make_batch({{"c", random_array("u", 100, 0, random)}});
  const auto memory = Memory::create(kNoLimit);
  EXPECT_EQ(copy_rows(numbers, strings.schema, *memory).error().code, ErrorCode::kUnsupportedType);
  const auto little = Memory::create(100);
  EXPECT_EQ(copy_rows(numbers, numbers.schema, *little).error().code,
            ErrorCode::kOutOfMemoryBudget);
}

}  // namespace
}  // namespace crossdock
