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

// The same decimals, an eighth of them null, as a source may have them and as their type says.
struct TwoWidths {
  DataType type = parse_arrow_format("d:15,2").value();
  std::vector<int64_t> words;
  std::vector<int64_t> wides;  // low, high
  std::vector<uint8_t> bits;
  ColumnView narrow;
  ColumnView wide;

  explicit TwoWidths(Random& random) {
    constexpr int64_t kOffset = 5;
    for (int64_t i = 0; i < kColumnRows; ++i) {
      words.push_back(static_cast<int64_t>(random()));
      wides.push_back(words.back());
      wides.push_back(words.back() >> 63);
    }
    for (int64_t i = 0; i < (kColumnRows + 7) / 8; ++i) bits.push_back(0xBF);
    wide.length = kColumnRows - kOffset;
    wide.offset = kOffset;
    wide.null_count = -1;
    wide.validity = bits.data();
    narrow = wide;
    narrow.is_narrow = true;
    narrow.values = reinterpret_cast<const uint8_t*>(words.data());
    wide.values = reinterpret_cast<const uint8_t*>(wides.data());
  }
};

TEST(ColumnBuffer, WidensDecimalsForWhoDoesNotTakeThemAsStored) {
  Random random(7);
  const TwoWidths decimals(random);
  ColumnBuffer wide(decimals.type);
  ColumnBuffer as_stored(decimals.type, Decimals::kAsStored);
  std::vector<uint32_t> rows = random_rows(random);
  for (uint32_t& row : rows) row %= static_cast<uint32_t>(decimals.narrow.length);
  std::vector<uint32_t> first(kBlockRows);
  std::iota(first.begin(), first.end(), 90U);
  for (const bool gathers : {false, true}) {
    const auto read = [&](ColumnBuffer& buffer, const ColumnView& column) {
      return gathers ? buffer.gather(column, rows.data(), kBlockRows)
                     : buffer.take(column, 90, kBlockRows);
    };
    const std::vector<uint32_t>& from = gathers ? rows : first;
    EXPECT_FALSE(read(as_stored, decimals.wide).is_narrow);
    const ColumnView widened = read(wide, decimals.narrow);
    const ColumnView stored = read(as_stored, decimals.narrow);
    EXPECT_FALSE(widened.is_narrow);
    EXPECT_TRUE(stored.is_narrow);
    for (int32_t i = 0; i < kBlockRows; ++i) {
      ASSERT_EQ(cell(decimals.type, widened, i), cell(decimals.type, decimals.wide, from[i]));
      ASSERT_EQ(stored.is_valid(i), decimals.wide.is_valid(from[i]));
      ASSERT_EQ(stored.data<int64_t>()[i], decimals.narrow.data<int64_t>()[from[i]]);
    }
  }
}

TEST(BatchWriter, WritesDecimalsOfBothWidths) {
  Random random(8);
  const TwoWidths decimals(random);
  auto schema = std::make_shared<Schema>();
  schema->fields.push_back({"d", decimals.type, true, ""});
  auto words = std::make_shared<Schema>(*schema);
  words->fields[0].type = parse_arrow_format("l").value();
  const auto memory = Memory::create(int64_t{1} << 28);
  BatchWriter wide(schema, memory, "a test");
  BatchWriter narrow(words, memory, "a test", schema);
  const int64_t rows = decimals.narrow.length;
  const Batch piece{schema, rows, {decimals.narrow}, nullptr};
  ASSERT_TRUE(wide.append({schema, rows, {decimals.wide}, nullptr}, {0}).ok());
  ASSERT_TRUE(wide.append(piece, {0}).ok());
  ASSERT_TRUE(narrow.append(piece, {0}).ok());
  const Batch widened = wide.finish();
  const Batch stored = narrow.finish();
  for (int64_t i = 0; i < rows; ++i) {
    const std::string there = cell(decimals.type, decimals.wide, i);
    ASSERT_EQ(cell(decimals.type, widened.columns[0], i), there);
    ASSERT_EQ(cell(decimals.type, widened.columns[0], rows + i), there);
    ASSERT_EQ(stored.columns[0].is_valid(i), decimals.wide.is_valid(i));
    ASSERT_EQ(stored.columns[0].data<int64_t>()[i], decimals.narrow.data<int64_t>()[i]);
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

// Strings of 0 to 40 bytes, of any layout and behind indices of any width, into any layout.
TEST(BatchWriter, WritesStringsInAnotherLayout) {
  Random random(7);
  Optionals<std::string> values_of_all_lengths;
  for (int64_t bytes = 0; bytes <= 40; ++bytes)
    values_of_all_lengths.emplace_back(std::string(bytes, 'a' + bytes % 26));
  for (const std::string values : {"u", "U", "vu"}) {
    std::vector<Array> arrays;
    for (const std::string index : {"c", "s", "i", "l"}) {
      for (const double null_share : {0.0, 0.2}) {
        arrays.push_back(random_encoded(
            index, strings(values, values_of_all_lengths), kColumnRows, null_share, random));
      }
    }
    arrays.push_back(random_array(values, kColumnRows, 0.2, random));
    for (const std::string to : {"u", "U", "vu"}) {
      const SchemaPtr schema = make_schema_ptr({{"c", strings(to, {})}});
      for (const Array& array : arrays) {
        if (array.format == to) continue;
        const Batch batch = make_batch({{"c", sliced(array, 3, kColumnRows - 3)}});
        BatchWriter writer(schema, Memory::create(int64_t{1} << 28), "a test", batch.schema);
        ASSERT_TRUE(writer.append(batch, {0}).ok());
        ASSERT_TRUE(writer.append(batch, {0}).ok());
        Strings expected = cells(batch, 0);
        const Strings again = expected;
        expected.insert(expected.end(), again.begin(), again.end());
        EXPECT_EQ(cells(writer.finish(), 0), expected) << array.format << values << to;
      }
    }
  }
}

}  // namespace
}  // namespace crossdock::execution
