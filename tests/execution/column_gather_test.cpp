// Columns of every type, read by row numbers and by references, and written side by side.
#include "execution/column_gather.hpp"

#include <numeric>

#include <gmock/gmock.h>

#include "execution/batch_writer.hpp"
#include "table/random_columns.hpp"

namespace crossdock::execution {
namespace {

using namespace arrow_test;

constexpr int64_t kColumnRows = 3'000;

std::vector<Array> arrays_of_all_types(Random& random) {
  std::vector<Array> arrays;
  for (const std::string& format : plain_formats()) {
    arrays.push_back(random_array(format, kColumnRows, 0.2, random));
    arrays.push_back(sliced(random_array(format, kColumnRows + 5, 0, random), 5, kColumnRows));
  }
  const Array values = random_array("u", 50, 0, random);
  arrays.push_back(random_encoded("i", values, kColumnRows, 0.1, random));
  return arrays;
}

std::vector<uint32_t> random_rows(Random& random) {
  std::vector<uint32_t> rows(kBlockRows);
  for (uint32_t& row : rows) row = static_cast<uint32_t>(random() % kColumnRows);
  return rows;
}

TEST(ColumnBuffer, GathersWhatStandsThere) {
  Random random(5);
  for (const Array& array : arrays_of_all_types(random)) {
    const Batch batch = make_batch({{"c", array}});
    const DataType& type = batch.schema->fields[0].type;
    RowStore store(batch.schema);
    ASSERT_TRUE(store.add(batch).ok());
    store.freeze();
    ColumnBuffer buffer(type);
    std::vector<uint32_t> rows = random_rows(random);
    const ColumnView by_number = buffer.gather(batch.columns[0], rows.data(), kBlockRows);
    for (int32_t i = 0; i < kBlockRows; ++i) {
      ASSERT_EQ(cell(type, by_number, i), cell(type, batch.columns[0], rows[i])) << array.format;
    }
    rows[7] = kNullRef;
    const ColumnView by_ref = buffer.gather(store.column(0), rows.data(), kBlockRows);
    for (int32_t i = 0; i < kBlockRows; ++i) {
      const std::string there = i == 7 ? "null" : cell(type, batch.columns[0], rows[i]);
      ASSERT_EQ(cell(type, by_ref, i), there) << array.format;
    }
  }
}

TEST(BatchWriter, WritesPiecesSideBySide) {
  Random random(6);
  for (const Array& array : arrays_of_all_types(random)) {
    const Batch batch = make_batch({{"c", array}});
    const DataType& type = batch.schema->fields[0].type;
    const auto memory = Memory::create(int64_t{1} << 28);
    BatchWriter writer(batch.schema, memory, "a test");
    const int64_t piece_rows = 777;
    for (int64_t at = 0; at < kColumnRows; at += piece_rows) {
      const int64_t rows = std::min(piece_rows, kColumnRows - at);
      Batch piece{batch.schema, rows, {slice(batch.columns[0], at, rows)}, batch.owner};
      ASSERT_TRUE(writer.append(piece, {0}).ok());
    }
    const Batch whole = writer.finish();
    ASSERT_EQ(whole.rows, kColumnRows);
    for (int64_t i = 0; i < kColumnRows; ++i) {
      ASSERT_EQ(cell(type, whole.columns[0], i), cell(type, batch.columns[0], i)) << array.format;
    }
    EXPECT_EQ(writer.rows(), 0);
  }
}

}  // namespace
}  // namespace crossdock::execution
