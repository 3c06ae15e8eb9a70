// The contents of columns: what passes, and that the first wrong row is the one named.
#include "table/validate.hpp"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "table/arrow_builder.hpp"

namespace crossdock {
namespace {

using arrow_test::Array;
using arrow_test::Columns;
using arrow_test::encoded;
using arrow_test::kNone;
using arrow_test::make_batch;
using arrow_test::sliced;
using arrow_test::strings;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kRows = 10'000;  // more than two of the blocks that are checked at a time

std::string error_of(const Array& array) {
  const Batch batch = make_batch({{"c", array}});
  const auto status = validate_column(batch.schema->fields[0], batch.columns[0]);
  if (status.ok()) return "";
  EXPECT_EQ(status.error().code, ErrorCode::kMalformedArrow);
  return status.error().message;
}

// kRows strings of 0 to 29 bytes, so that views are short and long; null where `nulls` says.
Array many_strings(const char* format, bool nulls = false) {
  arrow_test::Optionals<std::string> values;
  for (int64_t i = 0; i < kRows; ++i) {
    values.emplace_back(std::string(static_cast<size_t>(i * 7 % 30), 'x'));
    if (nulls && i % 3 == 0) values.back() = kNone;
  }
  return strings(format, values, 1000);
}

template <class T>
T* words_of_text(Array& array, int buffer) {
  return reinterpret_cast<T*>(array.buffers[buffer]->data());
}

class EveryTextFormat : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryTextFormat, PassesWellFormedColumns) {
  EXPECT_EQ(error_of(many_strings(GetParam())), "");
  EXPECT_EQ(error_of(many_strings(GetParam(), true)), "");
  EXPECT_EQ(error_of(sliced(many_strings(GetParam(), true), 4095, 17)), "");
  EXPECT_EQ(error_of(strings(GetParam(), {})), "");
}

int64_t longest_of(const Array& array) {
  const Batch batch = make_batch({{"c", array}});
  const auto longest = validate_column(batch.schema->fields[0], batch.columns[0]);
  EXPECT_TRUE(longest.ok());
  return longest.value();
}

TEST_P(EveryTextFormat, AnswersTheLongestText) {
  const bool views = GetParam()[0] == 'v';
  EXPECT_EQ(longest_of(many_strings(GetParam())), 29);
  // A null view may have any length in its slot.
  EXPECT_EQ(longest_of(many_strings(GetParam(), true)), views ? -1 : 29);
  EXPECT_EQ(longest_of(sliced(strings(GetParam(), {"a", "bb", "dddd", "ccc"}), 0, 2)), 2);
  EXPECT_EQ(longest_of(strings(GetParam(), {})), 0);
}

TEST(ValidateColumn, AnswersNoLengthOfWhatIsNoText) {
  EXPECT_EQ(longest_of(encoded("i", {0, 1}, strings("u", {"a", "bb"}))), -1);
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         EveryTextFormat,
                         ::testing::Values("u", "U", "vu", "z", "Z", "vz"));

template <class Offset>
void expect_offset_errors(const char* format) {
  for (const int64_t row : {int64_t{0}, int64_t{4095}, int64_t{4096}, kRows - 1}) {
    Array falling = many_strings(format, true);
    words_of_text<Offset>(falling, 1)[row] = words_of_text<Offset>(falling, 1)[row + 1] + 1;
    EXPECT_THAT(error_of(falling), HasSubstr(fmt::format(", row {}: its bytes run", row)));
  }
  Array negative = many_strings(format);
  words_of_text<Offset>(negative, 1)[0] = -1;
  EXPECT_THAT(error_of(negative),
              StartsWith("column \"c\", row 0: its bytes run from offset -1 to 0"));
  Array wrapping = many_strings(format);
  words_of_text<Offset>(wrapping, 1)[5] = std::numeric_limits<Offset>::max();
  words_of_text<Offset>(wrapping, 1)[6] = std::numeric_limits<Offset>::min();
  EXPECT_THAT(error_of(wrapping), HasSubstr("row 5"));
  EXPECT_EQ(error_of(sliced(wrapping, 7, 100)), "") << "rows outside of the slice do not count";
}

TEST(ValidateOffsets, NamesTheRowOf32BitOffsets) { expect_offset_errors<int32_t>("u"); }
TEST(ValidateOffsets, NamesTheRowOf64BitOffsets) { expect_offset_errors<int64_t>("Z"); }

// A column of one long view (20 bytes of a heap of 48) among short ones, and how to break it.
struct BrokenView {
  const char* name;
  int32_t length, heap, begin;
  const char* says;
};

class BrokenViews : public ::testing::TestWithParam<BrokenView> {};

TEST_P(BrokenViews, AreRefused) {
  Array array = many_strings("vu");
  const int64_t row = 4100;
  const int32_t view[4] = {GetParam().length, 0x78787878, GetParam().heap, GetParam().begin};
  std::memcpy(words_of_text<uint8_t>(array, 1) + row * 16, view, sizeof view);
  EXPECT_THAT(error_of(array), HasSubstr("row 4100"));
  EXPECT_THAT(error_of(array), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Breakages,
    BrokenViews,
    ::testing::Values(BrokenView{"NegativeLength", -1, 0, 0, "-1 bytes at 0"},
                      BrokenView{"LeastLength", INT32_MIN, 0, 0, "its view is"},
                      BrokenView{"NegativeHeap", 20, -1, 0, "variadic buffer -1"},
                      BrokenView{"HeapPastLast", 20, 1'000'000, 0, "there are"},
                      BrokenView{"NegativeBegin", 20, 0, -1, "20 bytes at -1"},
                      BrokenView{"BeginPastEnd", 20, 0, 1001, "20 bytes at 1001"},
                      BrokenView{"EndPastEnd", 20, 0, 990, "20 bytes at 990"},
                      BrokenView{"Overflow", INT32_MAX, 0, INT32_MAX, "2147483647 bytes at"},
                      BrokenView{"Padding", 4, 1, 0, "a short view of 4 bytes is not padded"},
                      BrokenView{"LatePadding", 11, 0, 1 << 24, "a short view of 11 bytes"}),
    [](const auto& tested) { return tested.param.name; });

TEST(ValidateViews, TakesExactlyTheHeapsEnd) {
  EXPECT_EQ(error_of(strings("vu", {"exactly sixteen."}, 16)), "");
}

TEST(ValidateViews, RefusesAnyLongViewWithoutHeaps) {
  Array array = strings("vu", {"short", "also short"});
  words_of_text<int32_t>(array, 1)[4] = 13;
  EXPECT_THAT(error_of(array), HasSubstr("there are 0 buffers"));
}

TEST(ValidateViews, LooksPastNullSlotsToTheWrongRow) {
  Array array = many_strings("vu", true);  // null slots hold views that would be wrong
  words_of_text<int32_t>(array, 1)[4 * 9001] = -7;
  EXPECT_THAT(error_of(array), HasSubstr("row 9001"));
}

arrow_test::Optionals<int64_t> many_indices(int64_t values) {
  arrow_test::Optionals<int64_t> indices;
  for (int64_t i = 0; i < kRows; ++i) indices.emplace_back(i % values);
  return indices;
}

Array numbered(int64_t values) {
  arrow_test::Optionals<int64_t> numbers;
  for (int64_t i = 0; i < values; ++i) numbers.emplace_back(i);
  return arrow_test::fixed<int64_t>("l", numbers);
}

class EveryIndexType : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryIndexType, PassesUpToTheLastValueAndNotBeyond) {
  EXPECT_EQ(error_of(encoded(GetParam(), many_indices(100), numbered(100))), "");
  auto indices = many_indices(100);
  indices[4097] = 100;
  EXPECT_THAT(error_of(encoded(GetParam(), indices, numbered(100))),
              StartsWith("column \"c\", row 4097: dictionary index 100; the dictionary has 100"));
  indices[4097] = kNone;
  EXPECT_EQ(error_of(encoded(GetParam(), indices, numbered(100))), "")
      << "null slots hold anything";
}

TEST_P(EveryIndexType, RefusesNegativeOnes) {
  auto indices = many_indices(100);
  indices[17] = -1;
  EXPECT_THAT(error_of(encoded(GetParam(), indices, numbered(100))), HasSubstr("row 17"));
}

TEST_P(EveryIndexType, RefusesAnyOfAnEmptyDictionary) {
  EXPECT_THAT(error_of(encoded(GetParam(), {0}, numbered(0))), HasSubstr("the dictionary has 0"));
  EXPECT_EQ(error_of(encoded(GetParam(), {kNone}, numbered(0))), "");
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         EveryIndexType,
                         ::testing::Values("c", "C", "s", "S", "i", "I", "l", "L"));

TEST(ValidateIndices, RefusesNegativeOnesOfADictionaryLargerThanTheirType) {
  EXPECT_THAT(error_of(encoded("c", {-1}, numbered(1000))), HasSubstr("dictionary index -1"));
  EXPECT_EQ(error_of(encoded("c", {127}, numbered(1000))), "");
  EXPECT_EQ(error_of(encoded("C", {255}, numbered(1000))), "");
  EXPECT_EQ(error_of(encoded("C", {255}, numbered(256))), "");
  EXPECT_THAT(error_of(encoded("C", {255}, numbered(255))), HasSubstr("dictionary index 255"));
}

TEST(ValidateDictionary, ChecksItsValuesUnlessKnown) {
  Array values = strings("u", {"a", "b"});
  words_of_text<int32_t>(values, 1)[1] = 9;
  const Batch batch = make_batch({{"c", encoded("i", {0}, values)}});
  const Field& field = batch.schema->fields[0];
  const auto status = validate_column(field, batch.columns[0]);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, StartsWith("column \"dictionary of c\", row 1"));
  EXPECT_TRUE(validate_column(field, batch.columns[0], batch.columns[0].dictionary).ok());
}

}  // namespace
}  // namespace crossdock
