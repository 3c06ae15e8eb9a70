// Streams whose batches bring dictionaries of their own.
#include "table/dictionary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "table/arrow_builder.hpp"
#include "table/validate.hpp"

namespace crossdock {
namespace {

using arrow_test::Array;
using arrow_test::cells;
using arrow_test::Columns;
using arrow_test::encoded;
using arrow_test::fixed;
using arrow_test::kNone;
using arrow_test::make_batch;
using arrow_test::Optionals;
using arrow_test::sliced;
using arrow_test::Strings;
using arrow_test::strings;
using ::testing::HasSubstr;

Strings dictionary_cells(const Batch& batch) {
  const ColumnView& dictionary = *batch.columns[0].dictionary;
  Strings result;
  for (int64_t row = 0; row < dictionary.length; ++row) {
    result.push_back(arrow_test::cell(*batch.schema->fields[0].type.dictionary, dictionary, row));
  }
  return result;
}

TablePtr table_of(const std::vector<Array>& arrays) {
  std::vector<Columns> batches;
  for (const Array& array : arrays) batches.push_back({{"c", array}});
  return arrow_test::make_table(std::move(batches));
}

constexpr const char* kLong = "a text that no view holds inline";

class MergedStrings : public ::testing::TestWithParam<const char*> {};

TEST_P(MergedStrings, IsMergedInOrderOfAppearance) {
  const char* format = GetParam();
  const TablePtr table = table_of({encoded("i", {1, 0, kNone}, strings(format, {"a", kLong})),
                                   encoded("i", {0, 1, 2}, strings(format, {"", "a", "b"})),
                                   encoded("i", {0, kNone, 1}, strings(format, {"z", kLong}))});
  EXPECT_EQ(cells(*table, 0), (Strings{kLong, "a", "null", "", "a", "b", "z", "null", kLong}));
  for (const Batch& batch : table->batches) {
    EXPECT_EQ(dictionary_cells(batch), (Strings{"a", kLong, "", "b", "z"}));
    EXPECT_TRUE(validate_column(batch.schema->fields[0], batch.columns[0]).ok());
    EXPECT_TRUE(
        same_memory(*batch.columns[0].dictionary, *table->batches[0].columns[0].dictionary));
  }
}

TEST_P(MergedStrings, KeepsNullsOfDictionaries) {
  const TablePtr table = table_of({encoded("i", {0, 1}, strings(GetParam(), {"a", "b"})),
                                   encoded("i", {0, 1, 2}, strings(GetParam(), {"b", kNone, ""})),
                                   encoded("i", {0}, strings(GetParam(), {kNone}))});
  EXPECT_EQ(cells(*table, 0), (Strings{"a", "b", "b", "null", "", "null"}));
  EXPECT_EQ(dictionary_cells(table->batches[2]), (Strings{"a", "b", "null", ""}));
  EXPECT_EQ(table->batches[0].columns[0].dictionary->null_count, 1);
}

INSTANTIATE_TEST_SUITE_P(Formats, MergedStrings, ::testing::Values("u", "U", "vu", "z", "Z", "vz"));

class MergedIndices : public ::testing::TestWithParam<const char*> {};

TEST_P(MergedIndices, IsRewrittenAtItsOwnWidth) {
  const TablePtr table = table_of({encoded(GetParam(), {1, 0}, strings("u", {"a", "b"})),
                                   sliced(encoded(GetParam(),
                                                  {0, 1, kNone, 0, 1, 1, kNone, 0, 1, kNone, 0, 1},
                                                  strings("u", {"b", "c"})),
                                          9,
                                          3)});
  EXPECT_EQ(cells(*table, 0), (Strings{"b", "a", "null", "b", "c"}));
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         MergedIndices,
                         ::testing::Values("c", "C", "s", "S", "i", "I", "l", "L"));

TEST(UnifyDictionaries, MergesNumbersAndBools) {
  const TablePtr numbers = table_of({encoded("i", {1, 0}, fixed<int64_t>("l", {10, 20})),
                                     encoded("i", {0, 1}, fixed<int64_t>("l", {20, 30}))});
  EXPECT_EQ(cells(*numbers, 0), (Strings{"20", "10", "20", "30"}));
  EXPECT_EQ(dictionary_cells(numbers->batches[1]), (Strings{"10", "20", "30"}));
  const TablePtr flags = table_of({encoded("i", {0}, arrow_test::bools({true})),
                                   encoded("i", {0, 1}, arrow_test::bools({false, true}))});
  EXPECT_EQ(cells(*flags, 0), (Strings{"true", "false", "true"}));
}

TEST(UnifyDictionaries, LeavesOneDictionaryAlone) {
  const Batch batch = make_batch({{"c", encoded("i", {0, 1, 0}, strings("u", {"a", "b"}))}});
  std::vector<Batch> batches = {batch, batch};
  ASSERT_TRUE(unify_dictionaries(batches, 0).ok());
  EXPECT_EQ(batches[1].owner, batch.owner);
  EXPECT_EQ(batches[1].columns[0].dictionary, batch.columns[0].dictionary);
}

TEST(UnifyDictionaries, KeepsIndicesOfEqualAndOfGrowingDictionaries) {
  std::vector<Batch> batches = {
      make_batch({{"c", encoded("i", {0, 1}, strings("u", {"a", "b"}))}}),
      make_batch({{"c", encoded("i", {1, 0}, strings("u", {"a", "b"}))}}),
      make_batch({{"c", encoded("i", {2, 0}, strings("u", {"a", "b", "c"}))}})};
  const std::vector<Batch> before = batches;
  ASSERT_TRUE(unify_dictionaries(batches, 0).ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(batches[i].columns[0].values, before[i].columns[0].values);
    EXPECT_EQ(cells(batches[i], 0), cells(before[i], 0));
  }
}

TEST(UnifyDictionaries, UsesTheFirstOneWhenItHasAllValues) {
  std::vector<Batch> batches = {
      make_batch({{"c", encoded("i", {0, 1}, strings("u", {"a", "b", "a"}))}}),
      make_batch({{"c", encoded("i", {0}, strings("u", {"b"}))}})};
  const uint8_t* bytes = batches[0].columns[0].dictionary->values;
  ASSERT_TRUE(unify_dictionaries(batches, 0).ok());
  EXPECT_EQ(batches[1].columns[0].dictionary->values, bytes);
  EXPECT_EQ(batches[1].columns[0].dictionary->length, 3);
  batches.erase(batches.begin());  // the first batch's memory must outlive it
  EXPECT_EQ(cells(batches[0], 0), (Strings{"b"}));
}

TEST(UnifyDictionaries, TakesNoBatches) {
  std::vector<Batch> none;
  EXPECT_TRUE(unify_dictionaries(none, 0).ok());
}

TEST(UnifyDictionaries, SaysWhenTheIndexTypeCannotNameAllValues) {
  Optionals<int64_t> low, high;
  for (int64_t i = 0; i < 100; ++i) {
    low.emplace_back(i);
    high.emplace_back(100 + i);
  }
  const auto batches_of = [&](const char* index) {
    return std::vector<Batch>{make_batch({{"c", encoded(index, {99}, fixed<int64_t>("l", low))}}),
                              make_batch({{"c", encoded(index, {99}, fixed<int64_t>("l", high))}})};
  };
  std::vector<Batch> narrow = batches_of("c");
  const Status status = unify_dictionaries(narrow, 0);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kValueOutOfRange);
  EXPECT_THAT(status.error().message, HasSubstr("200 different values"));
  EXPECT_THAT(status.error().message, HasSubstr("can name 128"));
  std::vector<Batch> wide = batches_of("C");
  ASSERT_TRUE(unify_dictionaries(wide, 0).ok());
  EXPECT_EQ(cells(wide[1], 0), (Strings{"199"}));
}

}  // namespace
}  // namespace crossdock
