// Arrays of foreign producers: read in place, sliced as they say, refused when they lie.
#include "table/arrow_import.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "table/arrow_builder.hpp"

namespace crossdock {
namespace {

using arrow_test::Array;
using arrow_test::bools;
using arrow_test::cells;
using arrow_test::Columns;
using arrow_test::encoded;
using arrow_test::fixed;
using arrow_test::kNone;
using arrow_test::live_structs;
using arrow_test::make_array;
using arrow_test::make_batch;
using arrow_test::make_schema_ptr;
using arrow_test::make_stream;
using arrow_test::sliced;
using arrow_test::Strings;
using arrow_test::strings;
using ::testing::HasSubstr;

Columns sample() {
  return {{"n", fixed<int64_t>("l", {1, kNone, 3})},
          {"s", strings("u", {"a", kNone, "ccc"})},
          {"v", strings("vu", {"a view of many bytes", kNone, "c"})},
          {"d", encoded("i", {1, kNone, 0}, strings("u", {"x", "y"}))},
          {"b", bools({true, kNone, false})}};
}

TEST(ImportBatch, ReadsEveryLayout) {
  const Batch batch = make_batch(sample());
  EXPECT_EQ(batch.rows, 3);
  EXPECT_EQ(cells(batch, 0), (Strings{"1", "null", "3"}));
  EXPECT_EQ(cells(batch, 1), (Strings{"a", "null", "ccc"}));
  EXPECT_EQ(cells(batch, 2), (Strings{"a view of many bytes", "null", "c"}));
  EXPECT_EQ(cells(batch, 3), (Strings{"y", "null", "x"}));
  EXPECT_EQ(cells(batch, 4), (Strings{"true", "null", "false"}));
}

TEST(ImportBatch, CopiesNothing) {
  const Columns columns = sample();
  ArrowArray raw = make_array(columns);
  const void* values = raw.children[0]->buffers[1];
  const void* offsets = raw.children[1]->buffers[1];
  const void* heap = raw.children[2]->buffers[2];
  const Result<Batch> batch = import_batch(&raw, make_schema_ptr(columns));
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch.value().columns[0].values, values);
  EXPECT_EQ(batch.value().columns[1].offsets, offsets);
  ASSERT_EQ(batch.value().columns[2].heap_count, 1);
  EXPECT_EQ(batch.value().columns[2].heaps[0], heap);
  EXPECT_EQ(batch.value().columns[2].heap_bytes[0], 20);
}

TEST(ImportBatch, OwnsTheArrayAsLongAsAnyCopyLives) {
  const int64_t before = live_structs();
  Batch kept;
  {
    const Batch batch = make_batch(sample());
    kept = batch;
  }
  EXPECT_EQ(live_structs(), before + 1);
  EXPECT_EQ(cells(kept, 0), (Strings{"1", "null", "3"}));
  kept = Batch{};
  EXPECT_EQ(live_structs(), before);
}

TEST(ImportBatch, AppliesOffsetsOfColumnsAndOfTheTable) {
  Columns columns = {
      {"n", sliced(fixed<int32_t>("i", {0, 1, 2, 3, kNone, 5}), 1, 5)},
      {"s", sliced(strings("U", {"", "b", "", "dd", "eee", kNone}), 1, 5)},
      {"v", sliced(strings("vz", {"", "b", kNone, "dd", "eee", "f"}), 1, 5)},
      {"d",
       sliced(encoded("C", {0, 1, 0, 1, kNone, 0}, sliced(strings("z", {"-", "x", "y"}), 1, 2)),
              1,
              5)},
      {"b", sliced(bools({false, false, true, kNone, false, true}), 1, 5)}};
  ArrowArray raw = make_array(columns, 3);
  raw.offset = 1;
  const Result<Batch> batch = import_batch(&raw, make_schema_ptr(columns));
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  EXPECT_EQ(batch.value().rows, 3);
  EXPECT_EQ(cells(batch.value(), 0), (Strings{"2", "3", "null"}));
  EXPECT_EQ(cells(batch.value(), 1), (Strings{"", "dd", "eee"}));
  EXPECT_EQ(cells(batch.value(), 2), (Strings{"null", "dd", "eee"}));
  EXPECT_EQ(cells(batch.value(), 3), (Strings{"x", "y", "null"}));
  EXPECT_EQ(cells(batch.value(), 4), (Strings{"true", "null", "false"}));
}

TEST(ImportBatch, DropsABitmapWithoutNulls) {
  Columns columns = {{"n", fixed<int64_t>("l", {1, kNone, 3})}};
  ArrowArray raw = make_array(columns);
  raw.children[0]->null_count = 0;
  const Result<Batch> batch = import_batch(&raw, make_schema_ptr(columns));
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch.value().columns[0].validity, nullptr);
}

TEST(ImportBatch, KnowsThatNoBitmapMeansNoNulls) {
  Columns columns = {{"n", fixed<int64_t>("l", {1, 2})}};
  ArrowArray raw = make_array(columns);
  raw.children[0]->null_count = -1;
  const Result<Batch> batch = import_batch(&raw, make_schema_ptr(columns));
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch.value().columns[0].null_count, 0);
}

TEST(ImportBatch, TakesEmptyColumnsWithoutBuffers) {
  Columns columns = {
      {"n", fixed<int64_t>("l", {})}, {"s", strings("u", {})}, {"v", strings("vu", {})}};
  ArrowArray raw = make_array(columns);
  for (int i = 0; i < 3; ++i) {
    for (int64_t b = 0; b < raw.children[i]->n_buffers; ++b) raw.children[i]->buffers[b] = nullptr;
  }
  const Result<Batch> batch = import_batch(&raw, make_schema_ptr(columns));
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  for (const ColumnView& column : batch.value().columns) {
    EXPECT_EQ(column.length, 0);
    EXPECT_NE(column.values, nullptr);
  }
  EXPECT_EQ(*static_cast<const int64_t*>(batch.value().columns[1].offsets), 0);
}

TEST(ImportBatch, TakesStringsThatAreAllEmptyWithoutBytes) {
  const Batch batch = make_batch({{"s", strings("u", {"", "", kNone})}});
  EXPECT_NE(batch.columns[0].values, nullptr);
  EXPECT_EQ(cells(batch, 0), (Strings{"", "", "null"}));
}

TEST(ImportBatch, TakesATableWithoutColumns) {
  const Columns columns;
  ArrowArray raw = make_array(columns, 7);
  const Result<Batch> batch = import_batch(&raw, make_schema_ptr(columns));
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(batch.value().rows, 7);
}

TEST(ImportBatch, RealignsBuffersAtOddAddresses) {
  const Columns columns = {{"n", fixed<int64_t>("l", {7, 8, 9})},
                           {"s", strings("u", {"a", "", "bc"})}};
  std::vector<uint8_t> numbers(1 + 24), offsets(1 + 16);
  ArrowArray raw = make_array(columns);
  memcpy(numbers.data() + 1, raw.children[0]->buffers[1], 24);
  memcpy(offsets.data() + 1, raw.children[1]->buffers[1], 16);
  raw.children[0]->buffers[1] = numbers.data() + 1;
  raw.children[1]->buffers[1] = offsets.data() + 1;
  const Result<Batch> batch = import_batch(&raw, make_schema_ptr(columns));
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.value().columns[0].values) % 8, 0u);
  EXPECT_EQ(batch.value().columns[0].data<int64_t>()[2], 9);
  EXPECT_EQ(cells(batch.value(), 1), (Strings{"a", "", "bc"}));
}

// A change to a well-formed array, and words that the error must have.
struct Breakage {
  const char* name;
  void (*apply)(ArrowArray&);
  const char* says;
};

class BrokenArray : public ::testing::TestWithParam<Breakage> {};

TEST_P(BrokenArray, IsRefusedByNameAndReleased) {
  const int64_t before = live_structs();
  const Columns columns = sample();
  ArrowArray raw = make_array(columns);
  GetParam().apply(raw);
  const Result<Batch> batch = import_batch(&raw, make_schema_ptr(columns));
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.error().code, ErrorCode::kMalformedArrow);
  EXPECT_THAT(batch.error().message, HasSubstr(GetParam().says));
  EXPECT_EQ(raw.release, nullptr);
  EXPECT_EQ(live_structs(), before);
}

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
const uint8_t kOneNull[1] = {0b101};

INSTANTIATE_TEST_SUITE_P(
    OfTheTable,
    BrokenArray,
    ::testing::Values(
        Breakage{"NegativeLength", [](ArrowArray& a) { a.length = -1; }, "table: length -1"},
        Breakage{
            "NegativeOffset", [](ArrowArray& a) { a.offset = -1; }, "table: length 3, offset -1"},
        Breakage{"HugeExtent", [](ArrowArray& a) { a.offset = kMost; }, "may not pass"},
        Breakage{"TooLong",
                 [](ArrowArray& a) { a.length = 4; },
                 "column \"n\": 3 rows, but the table needs 4"},
        Breakage{"OffsetPastEnd", [](ArrowArray& a) { a.offset = 1; }, "(3 from row 1)"},
        Breakage{"FewerChildren", [](ArrowArray& a) { a.n_children = 4; }, "4 child arrays, but 5"},
        Breakage{
            "MoreChildren", [](ArrowArray& a) { a.n_children = kMost; }, "child arrays, but 5"},
        Breakage{"NoChildren", [](ArrowArray& a) { a.children = nullptr; }, "no pointer"},
        Breakage{"NullChild",
                 [](ArrowArray& a) { a.children[2] = nullptr; },
                 "column \"v\": its array is a null"},
        Breakage{"Buffers", [](ArrowArray& a) { a.n_buffers = 2; }, "a struct array has 1"},
        Breakage{"NoBuffers", [](ArrowArray& a) { a.buffers = nullptr; }, "a struct array has 1"},
        Breakage{"OwnNulls",
                 [](ArrowArray& a) { a.null_count = -1, a.buffers[0] = kOneNull; },
                 "has 1 nulls of its own"},
        Breakage{
            "ClaimedNulls", [](ArrowArray& a) { a.null_count = 2; }, "has 2 nulls of its own"}),
    [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(
    OfAColumn,
    BrokenArray,
    ::testing::Values(
        Breakage{"Released",
                 [](ArrowArray& a) { a.children[0]->release = nullptr; },
                 "column \"n\": its array was already"},
        Breakage{"NegativeLength",
                 [](ArrowArray& a) { a.children[0]->length = -3; },
                 "column \"n\": length -3"},
        Breakage{"NegativeOffset",
                 [](ArrowArray& a) { a.children[1]->offset = -3; },
                 "column \"s\": length 3, offset -3"},
        Breakage{
            "HugeLength", [](ArrowArray& a) { a.children[0]->length = kMost; }, "may not pass"},
        Breakage{
            "HugeSum", [](ArrowArray& a) { a.children[0]->offset = kMost - 1; }, "may not pass"},
        Breakage{"Shorter",
                 [](ArrowArray& a) { a.children[1]->length = 2, a.children[1]->null_count = -1; },
                 "column \"s\": 2 rows, but the table needs 3"},
        Breakage{"TooManyNulls",
                 [](ArrowArray& a) { a.children[0]->null_count = 4; },
                 "4 nulls in 3 rows"},
        Breakage{
            "NegativeNulls", [](ArrowArray& a) { a.children[0]->null_count = -2; }, "-2 nulls"},
        Breakage{"NullsWithoutBitmap",
                 [](ArrowArray& a) { a.children[0]->buffers[0] = nullptr; },
                 "1 nulls, but no validity bitmap"},
        Breakage{"MissingBuffer",
                 [](ArrowArray& a) { a.children[0]->n_buffers = 1; },
                 "1 buffers; type int64 has 2"},
        Breakage{"ExtraBuffer",
                 [](ArrowArray& a) { a.children[1]->n_buffers = 4; },
                 "4 buffers; type utf8 has 3"},
        Breakage{"FewViewBuffers",
                 [](ArrowArray& a) { a.children[2]->n_buffers = 2; },
                 "type utf8_view has 3 or more"},
        Breakage{
            "HugeViewBuffers", [](ArrowArray& a) { a.children[2]->n_buffers = kMost; }, "or more"},
        Breakage{
            "NegativeBuffers", [](ArrowArray& a) { a.children[2]->n_buffers = -1; }, "-1 buffers"},
        Breakage{"NoBuffers",
                 [](ArrowArray& a) { a.children[0]->buffers = nullptr; },
                 "no pointer to its buffers"},
        Breakage{"Children",
                 [](ArrowArray& a) { a.children[0]->n_children = 1; },
                 "1 child arrays; type int64 has none"},
        Breakage{"NoValues",
                 [](ArrowArray& a) { a.children[0]->buffers[1] = nullptr; },
                 "no values buffer"},
        Breakage{"NoBits",
                 [](ArrowArray& a) { a.children[4]->buffers[1] = nullptr; },
                 "column \"b\": no values buffer"},
        Breakage{"NoOffsets",
                 [](ArrowArray& a) { a.children[1]->buffers[1] = nullptr; },
                 "no offsets buffer"},
        Breakage{"NoBytes",
                 [](ArrowArray& a) { a.children[1]->buffers[2] = nullptr; },
                 "no bytes buffer, but offsets from 0 to 4"},
        Breakage{"NoViews",
                 [](ArrowArray& a) { a.children[2]->buffers[1] = nullptr; },
                 "no views buffer"},
        Breakage{"NoHeap",
                 [](ArrowArray& a) { a.children[2]->buffers[2] = nullptr; },
                 "variadic buffer 0 of 1 has 20 bytes and no pointer"},
        Breakage{"NoHeapSizes",
                 [](ArrowArray& a) { a.children[2]->buffers[3] = nullptr; },
                 "no buffer of their sizes"},
        Breakage{"NegativeHeap",
                 [](ArrowArray& a) {
                   static const int64_t kNegative = -5;
                   a.children[2]->buffers[3] = &kNegative;
                 },
                 "has -5 bytes"},
        Breakage{"NoDictionary",
                 [](ArrowArray& a) { a.children[3]->dictionary = nullptr; },
                 "column \"d\": no dictionary"},
        Breakage{"UnaskedDictionary",
                 [](ArrowArray& a) { a.children[0]->dictionary = a.children[1]; },
                 "a dictionary, but its type is int64"},
        Breakage{"ReleasedDictionary",
                 [](ArrowArray& a) { a.children[3]->dictionary->release = nullptr; },
                 "dictionary of column \"d\": its array was"},
        Breakage{"DictionaryLength",
                 [](ArrowArray& a) { a.children[3]->dictionary->length = -1; },
                 "dictionary of column \"d\": length -1"},
        Breakage{"NestedDictionary",
                 [](ArrowArray& a) { a.children[3]->dictionary->dictionary = a.children[0]; },
                 "a dictionary, but its type is utf8"}),
    [](const auto& tested) { return tested.param.name; });

TEST(ImportBatch, RefusesAReleasedArray) {
  ArrowArray raw{};
  const Result<Batch> batch = import_batch(&raw, make_schema_ptr(sample()));
  ASSERT_FALSE(batch.ok());
  EXPECT_THAT(batch.error().message, HasSubstr("already released"));
}

TEST(ImportStream, CollectsBatchesAndDropsEmptyOnes) {
  const Columns first = {{"n", fixed<int64_t>("l", {1, 2})}};
  const Columns empty = {{"n", fixed<int64_t>("l", {})}};
  const Columns last = {{"n", fixed<int64_t>("l", {kNone})}};
  const int64_t before = live_structs();
  {
    const TablePtr table = arrow_test::make_table({first, empty, last});
    EXPECT_EQ(table->rows, 3);
    EXPECT_EQ(table->batches.size(), 2u);
    EXPECT_EQ(cells(*table, 0), (Strings{"1", "2", "null"}));
    EXPECT_EQ(live_structs(), before + 2);
  }
  EXPECT_EQ(live_structs(), before);
}

TEST(ImportStream, TellsTheProducersErrorAndReleasesEverything) {
  const int64_t before = live_structs();
  ArrowArrayStream stream = make_stream({sample(), sample()}, "the disk is on fire");
  const Result<TablePtr> table = import_stream(&stream);
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code, ErrorCode::kSourceFailed);
  EXPECT_EQ(table.error().message,
            "the source failed while giving batch 2: the disk is on fire (errno 5)");
  EXPECT_EQ(live_structs(), before);
}

TEST(ImportStream, TellsAFailureThatHasNoText) {
  ArrowArrayStream stream = make_stream({sample()}, "unused");
  stream.get_last_error = nullptr;
  const Result<TablePtr> table = import_stream(&stream);
  ASSERT_FALSE(table.ok());
  EXPECT_THAT(table.error().message, HasSubstr("Input/output error"));
}

TEST(ImportStream, TellsAFailureToGiveASchema) {
  ArrowArrayStream stream = make_stream({sample()}, "no schema today");
  stream.get_schema = [](ArrowArrayStream*, ArrowSchema*) { return 22; };
  const Result<TablePtr> table = import_stream(&stream);
  ASSERT_FALSE(table.ok());
  EXPECT_THAT(table.error().message, HasSubstr("its schema: no schema today (errno 22)"));
}

TEST(ImportStream, RefusesOneThatWasRead) {
  ArrowArrayStream stream = make_stream({sample()});
  ASSERT_TRUE(import_stream(&stream).ok());
  const Result<TablePtr> again = import_stream(&stream);
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("already read"));
}

TEST(ImportStream, ChecksContents) {
  ArrowArrayStream stream = make_stream({{{"d", encoded("i", {5}, strings("u", {"x"}))}}});
  const int64_t before = live_structs() - 1;
  const Result<TablePtr> table = import_stream(&stream);
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().code, ErrorCode::kMalformedArrow);
  EXPECT_EQ(live_structs(), before);
}

TEST(SliceColumn, MovesTheOffsetOnly) {
  const Batch batch = make_batch(sample());
  const ColumnView part = slice(batch.columns[0], 1, 2);
  EXPECT_EQ(part.values, batch.columns[0].values);
  EXPECT_EQ(part.length, 2);
  EXPECT_EQ(part.null_count, -1);
  EXPECT_FALSE(part.is_valid(0));
  EXPECT_EQ(part.data<int64_t>()[1], 3);
  EXPECT_EQ(slice(batch.columns[0], 0, 3).null_count, 1);
}

TEST(SliceColumnDeathTest, StopsAtASliceBeyondTheColumn) {
  const Batch batch = make_batch(sample());
  EXPECT_DEATH(slice(batch.columns[0], 2, 2), "rows \\[2, \\+2\\) of a column of 3 rows");
}

}  // namespace
}  // namespace crossdock
