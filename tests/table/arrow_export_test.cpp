// Batches out again: the same values, the same memory, and no release too early or too late.
#include "table/arrow_export.hpp"

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "table/arrow_builder.hpp"
#include "table/validate.hpp"

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
using arrow_test::make_batch;
using arrow_test::make_schema_ptr;
using arrow_test::sliced;
using arrow_test::Strings;
using arrow_test::strings;
using ::testing::HasSubstr;

template <class T>
Array numbers(const char* format) {
  return fixed<T>(format, {T(1), kNone, T(3), T(4), kNone, T(6)});
}

Array words(const char* format) {
  return strings(format,
                 {"one", kNone, "", "quite a long text, fourth", kNone, "another rather long one"});
}

struct Decimal {
  uint64_t low;
  int64_t high;
};

struct ExportCase {
  const char* name;
  Array array;
};

std::vector<ExportCase> every_type() {
  return {
      {"bool", bools({true, kNone, false, true, kNone, true})},
      {"int8", numbers<int8_t>("c")},
      {"uint8", numbers<uint8_t>("C")},
      {"int16", numbers<int16_t>("s")},
      {"uint16", numbers<uint16_t>("S")},
      {"int32", numbers<int32_t>("i")},
      {"uint32", numbers<uint32_t>("I")},
      {"int64", numbers<int64_t>("l")},
      {"uint64", numbers<uint64_t>("L")},
      {"float16", numbers<uint16_t>("e")},
      {"float32", numbers<float>("f")},
      {"float64", numbers<double>("g")},
      {"date32", numbers<int32_t>("tdD")},
      {"date64", numbers<int64_t>("tdm")},
      {"time32", numbers<int32_t>("ttm")},
      {"time64", numbers<int64_t>("ttn")},
      {"timestamp", numbers<int64_t>("tsu:Europe/Berlin")},
      {"duration", numbers<int64_t>("tDs")},
      {"decimal128",
       fixed<Decimal>("d:20,2",
                      {Decimal{1, 0}, kNone, Decimal{3, -1}, Decimal{4, 4}, kNone, Decimal{6, 6}})},
      {"utf8", words("u")},
      {"large_utf8", words("U")},
      {"utf8_view", words("vu")},
      {"binary", words("z")},
      {"large_binary", words("Z")},
      {"binary_view", words("vz")},
      {"dictionary_int8_utf8", encoded("c", {2, kNone, 0, 1, kNone, 3}, words("u"))},
      {"dictionary_uint64_utf8_view", encoded("L", {2, kNone, 0, 1, kNone, 3}, words("vu"))},
      {"dictionary_int32_large_utf8", encoded("i", {2, kNone, 0, 1, kNone, 3}, words("U"))},
      {"dictionary_uint16_int64", encoded("S", {2, kNone, 0, 3, kNone, 5}, numbers<int64_t>("l"))},
      {"dictionary_int32_bool", encoded("i", {0, kNone, 1, 0, kNone, 1}, bools({true, false}))},
  };
}

class RoundTrip : public ::testing::TestWithParam<ExportCase> {};

Batch round_trip(const Batch& batch) {
  ArrowSchema raw_schema;
  export_schema(*batch.schema, &raw_schema);
  Result<SchemaPtr> schema = import_schema(raw_schema);
  raw_schema.release(&raw_schema);
  EXPECT_TRUE(schema.ok()) << schema.error().message;
  ArrowArray raw;
  export_batch(batch, &raw);
  Result<Batch> again = import_batch(&raw, schema.value());
  EXPECT_TRUE(again.ok()) << again.error().message;
  return again.value();
}

TEST_P(RoundTrip, KeepsValuesTypeAndMemory) {
  const Columns columns = {{"c", GetParam().array}};
  const Batch batch = make_batch(columns);
  const Batch again = round_trip(batch);
  ASSERT_TRUE(validate_column(again.schema->fields[0], again.columns[0]).ok());
  EXPECT_EQ(cells(again, 0), cells(batch, 0));
  EXPECT_EQ(cells(again, 0)[1], "null");
  EXPECT_EQ(again.schema->fields[0].type, batch.schema->fields[0].type);
  EXPECT_EQ(again.schema->fields[0].type.arrow_format, GetParam().array.format);
  EXPECT_EQ(again.columns[0].values, batch.columns[0].values);
  EXPECT_EQ(again.columns[0].null_count, 2);
}

TEST_P(RoundTrip, KeepsSlices) {
  const Columns columns = {{"c", sliced(GetParam().array, 1, 4)}};
  Batch batch = make_batch(columns);
  const Strings all = cells(batch, 0);
  batch.columns[0] = slice(batch.columns[0], 1, 2);
  batch.rows = 2;
  const Batch again = round_trip(batch);
  EXPECT_EQ(cells(again, 0), (Strings{all[1], all[2]}));
  EXPECT_EQ(again.columns[0].offset, 2);
}

TEST_P(RoundTrip, KeepsEmptyColumns) {
  const Columns columns = {{"c", sliced(GetParam().array, 6, 0)}};
  EXPECT_EQ(round_trip(make_batch(columns)).rows, 0);
  Batch behind = make_batch({{"c", GetParam().array}});
  behind.columns[0] = slice(behind.columns[0], 2, 0);
  behind.rows = 0;
  ArrowArray raw;
  export_batch(behind, &raw);
  EXPECT_EQ(raw.children[0]->offset, 0) << "consumers may take the buffers of no rows for empty";
  raw.release(&raw);
}

INSTANTIATE_TEST_SUITE_P(EveryType,
                         RoundTrip,
                         ::testing::ValuesIn(every_type()),
                         [](const auto& tested) { return tested.param.name; });

Columns exported_sample() {
  return {{"n", numbers<int64_t>("l"), false},
          {"d", encoded("i", {1, 0, 1, 0, 1, 0}, words("u")), true, true}};
}

TEST(ExportSchema, KeepsNamesFlagsAndMetadata) {
  Columns columns = exported_sample();
  columns[0].metadata = std::string("\1\0\0\0\1\0\0\0k\1\0\0\0v", 14);
  ArrowSchema raw;
  export_schema(*make_schema_ptr(columns), &raw);
  EXPECT_STREQ(raw.format, "+s");
  ASSERT_EQ(raw.n_children, 2);
  EXPECT_STREQ(raw.children[0]->name, "n");
  EXPECT_STREQ(raw.children[0]->format, "l");
  EXPECT_EQ(raw.children[0]->flags, 0);
  EXPECT_EQ(memcmp(raw.children[0]->metadata, columns[0].metadata.data(), 14), 0);
  EXPECT_EQ(raw.children[1]->flags, ARROW_FLAG_NULLABLE | ARROW_FLAG_DICTIONARY_ORDERED);
  EXPECT_EQ(raw.children[1]->metadata, nullptr);
  EXPECT_STREQ(raw.children[1]->dictionary->format, "u");
  raw.release(&raw);
  EXPECT_EQ(raw.release, nullptr);
}

TEST(ExportSchema, LetsAChildOutliveItsParent) {
  ArrowSchema raw;
  export_schema(*make_schema_ptr(exported_sample()), &raw);
  ArrowSchema child = *raw.children[1];
  raw.children[1]->release = nullptr;
  raw.release(&raw);
  EXPECT_STREQ(child.name, "d");
  EXPECT_STREQ(child.dictionary->format, "u");
  child.release(&child);
}

TEST(ExportBatch, HoldsItsOwnerUntilTheLastReleaseOfAMovedColumn) {
  const int64_t before = live_structs();
  ArrowArray raw;
  {
    const Batch batch = make_batch(exported_sample());
    export_batch(batch, &raw);
  }
  EXPECT_EQ(live_structs(), before + 1);
  ArrowArray moved = *raw.children[0];
  raw.children[0]->release = nullptr;
  ArrowArray dictionary = *raw.children[1]->dictionary;
  raw.children[1]->dictionary->release = nullptr;
  raw.release(&raw);
  EXPECT_EQ(live_structs(), before + 1);
  EXPECT_EQ(static_cast<const int64_t*>(moved.buffers[1])[2], 3);
  moved.release(&moved);
  EXPECT_EQ(live_structs(), before + 1);
  dictionary.release(&dictionary);
  EXPECT_EQ(live_structs(), before);
}

TEST(ExportBatch, WritesTheSizesOfVariadicBuffersLast) {
  const Batch batch = make_batch({{"v", words("vu")}});
  ArrowArray raw;
  export_batch(batch, &raw);
  const ArrowArray& column = *raw.children[0];
  ASSERT_EQ(column.n_buffers, 4);
  EXPECT_EQ(static_cast<const int64_t*>(column.buffers[3])[0], 48);
  raw.release(&raw);
}

// A source of `count` batches, then of `last`.
BatchPuller counted(int count, Result<std::optional<Batch>> last) {
  return [count, last]() mutable -> Result<std::optional<Batch>> {
    if (count-- > 0) return std::optional<Batch>(make_batch(exported_sample()));
    return last;
  };
}

TEST(ExportStream, GivesEveryBatchThenTheEnd) {
  ArrowArrayStream stream;
  export_stream(make_schema_ptr(exported_sample()), counted(3, std::optional<Batch>()), &stream);
  const Result<TablePtr> table = import_stream(&stream);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table.value()->rows, 18);
  EXPECT_EQ(stream.release, nullptr);
}

TEST(ExportStream, StaysAtItsEnd) {
  ArrowArrayStream stream;
  export_stream(make_schema_ptr(exported_sample()), counted(0, std::optional<Batch>()), &stream);
  for (int i = 0; i < 3; ++i) {
    ArrowArray raw;
    EXPECT_EQ(stream.get_next(&stream, &raw), 0);
    EXPECT_EQ(raw.release, nullptr);
  }
  EXPECT_EQ(stream.get_last_error(&stream), nullptr);
  stream.release(&stream);
}

TEST(ExportStream, TellsCodeTextAndErrno) {
  const std::pair<ErrorCode, int> kinds[] = {{ErrorCode::kCancelled, ECANCELED},
                                             {ErrorCode::kOutOfMemoryBudget, ENOMEM},
                                             {ErrorCode::kInternal, EIO}};
  for (const auto& [code, number] : kinds) {
    ArrowArrayStream stream;
    export_stream(
        make_schema_ptr(exported_sample()), counted(0, Error{code, "the reason"}), &stream);
    ArrowArray raw;
    EXPECT_EQ(stream.get_next(&stream, &raw), number);
    EXPECT_EQ(stream.get_next(&stream, &raw), number) << "an error stays";
    EXPECT_EQ(stream.get_last_error(&stream), code_text(code) + ": the reason");
    stream.release(&stream);
  }
}

TEST(ExportStream, LetsNoExceptionThrough) {
  ArrowArrayStream stream;
  const BatchPuller throws = []() -> Result<std::optional<Batch>> {
    throw std::runtime_error("thrown");
  };
  export_stream(make_schema_ptr(exported_sample()), throws, &stream);
  ArrowArray raw;
  EXPECT_EQ(stream.get_next(&stream, &raw), EIO);
  EXPECT_STREQ(stream.get_last_error(&stream), "CD-901: thrown");
  stream.release(&stream);
}

TEST(ExportStream, DropsItsSourceAtTheEnd) {
  auto held = std::make_shared<int>(1);
  ArrowArrayStream stream;
  export_stream(
      make_schema_ptr(exported_sample()),
      [held]() -> Result<std::optional<Batch>> { return std::optional<Batch>(); },
      &stream);
  ArrowArray raw;
  EXPECT_EQ(held.use_count(), 2);
  ASSERT_EQ(stream.get_next(&stream, &raw), 0);
  EXPECT_EQ(held.use_count(), 1);
  stream.release(&stream);
}

}  // namespace
}  // namespace crossdock
