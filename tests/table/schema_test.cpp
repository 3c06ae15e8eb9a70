// Finding columns by name, and reading schemas of foreign producers.
#include "table/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "table/arrow_builder.hpp"

namespace crossdock {
namespace {

using arrow_test::Columns;
using ::testing::HasSubstr;
using ::testing::Not;

Columns sample_schema() {
  return {{"id", arrow_test::fixed<int64_t>("l", {1}), false},
          {"price", arrow_test::fixed<double>("g", {1.5})},
          {"name", arrow_test::encoded("i", {0}, arrow_test::strings("u", {"a"})), true, true}};
}

TEST(SchemaFind, AnswersThePosition) {
  const SchemaPtr schema = arrow_test::make_schema_ptr(sample_schema());
  EXPECT_EQ(schema->find("price", "left table").value(), 1);
}

TEST(SchemaFind, ProposesTheNearestName) {
  const SchemaPtr schema = arrow_test::make_schema_ptr(sample_schema());
  const Result<int> place = schema->find("prize", "left table");
  ASSERT_FALSE(place.ok());
  EXPECT_EQ(place.error().code, ErrorCode::kUnknownColumn);
  EXPECT_EQ(
      place.error().message,
      "no column \"prize\" in the left table\n  has      id, price, name\n  try      \"price\"");
}

TEST(SchemaFind, ProposesNothingWhenNothingIsNear) {
  const SchemaPtr schema = arrow_test::make_schema_ptr(sample_schema());
  const Result<int> place = schema->find("quantity", "right table");
  ASSERT_FALSE(place.ok());
  EXPECT_THAT(place.error().message, Not(HasSubstr("try")));
}

TEST(SchemaFind, KeepsTheListOfAWideTableShort) {
  Schema schema;
  for (int i = 0; i < 1000; ++i)
    schema.fields.push_back({fmt::format("column_{}", i), {}, true, ""});
  const Result<int> place = schema.find("other", "left table");
  ASSERT_FALSE(place.ok());
  EXPECT_THAT(place.error().message, HasSubstr("... (980 more)"));
  EXPECT_LT(place.error().message.size(), 500u);
}

TEST(SchemaFind, RefusesANameThatStandsTwice) {
  Columns columns = sample_schema();
  columns[2].name = "id";
  const Result<int> place = arrow_test::make_schema_ptr(columns)->find("id", "left table");
  ASSERT_FALSE(place.ok());
  EXPECT_EQ(place.error().code, ErrorCode::kDuplicateColumn);
  EXPECT_THAT(place.error().message, HasSubstr("positions 0 and 2"));
}

TEST(SchemaFind, SaysThatATableHasNoColumns) {
  EXPECT_THAT(Schema{}.find("id", "left table").error().message, HasSubstr("none"));
}

TEST(ImportSchema, KeepsNamesTypesAndFlags) {
  const SchemaPtr schema = arrow_test::make_schema_ptr(sample_schema());
  ASSERT_EQ(schema->column_count(), 3);
  EXPECT_EQ(schema->fields[0].name, "id");
  EXPECT_FALSE(schema->fields[0].nullable);
  EXPECT_TRUE(schema->fields[1].nullable);
  EXPECT_EQ(type_name(schema->fields[2].type), "dictionary<int32, utf8>");
  EXPECT_TRUE(schema->fields[2].type.ordered_dictionary);
}

TEST(ImportSchema, KeepsMetadataOfAColumn) {
  const std::string metadata("\1\0\0\0\3\0\0\0key\5\0\0\0value", 20);
  Columns columns = sample_schema();
  columns[1].metadata = metadata + "bytes that follow the block";
  EXPECT_EQ(arrow_test::make_schema_ptr(columns)->fields[1].metadata, metadata);
}

// A change to a well-formed schema, and words that the error must have.
struct SchemaBreakage {
  const char* name;
  void (*apply)(ArrowSchema&);
  const char* says;
  ErrorCode code = ErrorCode::kMalformedArrow;
};

class BrokenSchema : public ::testing::TestWithParam<SchemaBreakage> {};

TEST_P(BrokenSchema, IsRefusedByName) {
  ArrowSchema raw = arrow_test::make_schema(sample_schema());
  const auto release = raw.release;
  GetParam().apply(raw);
  const Result<SchemaPtr> schema = import_schema(raw);
  ASSERT_FALSE(schema.ok());
  EXPECT_EQ(schema.error().code, GetParam().code);
  EXPECT_THAT(schema.error().message, HasSubstr(GetParam().says));
  release(&raw);
}

INSTANTIATE_TEST_SUITE_P(
    Breakages,
    BrokenSchema,
    ::testing::Values(
        SchemaBreakage{
            "Released", [](ArrowSchema& s) { s.release = nullptr; }, "table: its schema was"},
        SchemaBreakage{"NotAStruct", [](ArrowSchema& s) { s.format = "l"; }, "not \"l\""},
        SchemaBreakage{"NoFormat", [](ArrowSchema& s) { s.format = nullptr; }, "not \"none\""},
        SchemaBreakage{"NegativeCount", [](ArrowSchema& s) { s.n_children = -1; }, "-1 columns"},
        SchemaBreakage{
            "HugeCount", [](ArrowSchema& s) { s.n_children = INT64_MAX; }, "a table has"},
        SchemaBreakage{"NoChildren", [](ArrowSchema& s) { s.children = nullptr; }, "no pointer"},
        SchemaBreakage{"NullChild", [](ArrowSchema& s) { s.children[1] = nullptr; }, "column 1"},
        SchemaBreakage{"ReleasedChild",
                       [](ArrowSchema& s) { s.children[1]->release = nullptr; },
                       "column 1: its schema was already released"},
        SchemaBreakage{"ChildWithoutFormat",
                       [](ArrowSchema& s) { s.children[1]->format = nullptr; },
                       "column \"price\": its schema has no format"},
        SchemaBreakage{"ChildWithChildren",
                       [](ArrowSchema& s) { s.children[1]->n_children = 7; },
                       "type float64 has 7 children"},
        SchemaBreakage{"LongFormat",
                       [](ArrowSchema& s) {
                         static const std::string kLong = "tsu:" + std::string(5000, 'z');
                         s.children[1]->format = kLong.c_str();
                       },
                       "longer than"},
        SchemaBreakage{"NegativeMetadata",
                       [](ArrowSchema& s) { s.children[1]->metadata = "\xFF\xFF\xFF\xFF"; },
                       "metadata with -1 entries"},
        SchemaBreakage{"NegativeMetadataText",
                       [](ArrowSchema& s) { s.children[1]->metadata = "\1\0\0\0\xFF\xFF\xFF\xFF"; },
                       "metadata text 0 of -1 bytes"},
        SchemaBreakage{"ReleasedDictionary",
                       [](ArrowSchema& s) { s.children[2]->dictionary->release = nullptr; },
                       "dictionary of column \"name\""},
        SchemaBreakage{"FloatIndices",
                       [](ArrowSchema& s) { s.children[2]->format = "g"; },
                       "indices of type float64"},
        SchemaBreakage{"UnsupportedColumn",
                       [](ArrowSchema& s) { s.children[1]->format = "+l"; },
                       "column \"price\": type list (Arrow format \"+l\") is not supported",
                       ErrorCode::kUnsupportedType},
        SchemaBreakage{"UnsupportedDictionary",
                       [](ArrowSchema& s) { s.children[2]->dictionary->format = "n"; },
                       "dictionary of column \"name\": type null",
                       ErrorCode::kUnsupportedType},
        SchemaBreakage{
            "NestedDictionary",
            [](ArrowSchema& s) { s.children[2]->dictionary->dictionary = s.children[0]; },
            "dictionary of dictionaries",
            ErrorCode::kUnsupportedType}),
    [](const auto& tested) { return tested.param.name; });

TEST(ImportSchema, TakesAColumnWithoutAName) {
  ArrowSchema raw = arrow_test::make_schema(sample_schema());
  raw.children[0]->name = nullptr;
  const Result<SchemaPtr> schema = import_schema(raw);
  raw.release(&raw);
  ASSERT_TRUE(schema.ok());
  EXPECT_EQ(schema.value()->fields[0].name, "");
}

}  // namespace
}  // namespace crossdock
