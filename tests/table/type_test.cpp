// Arrow format strings: every supported one, and what the refused ones are called.
#include "table/type.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* format;
  TypeId id;
  const char* name;
  Layout layout;
  int32_t bytes;
};

class SupportedType : public ::testing::TestWithParam<Case> {};

TEST_P(SupportedType, IsReadNamedAndKept) {
  const Result<DataType> type = parse_arrow_format(GetParam().format);
  ASSERT_TRUE(type.ok()) << type.error().message;
  EXPECT_EQ(type.value().id, GetParam().id);
  EXPECT_EQ(type.value().arrow_format, GetParam().format);
  EXPECT_EQ(type_name(type.value()), GetParam().name);
  EXPECT_EQ(layout(type.value()), GetParam().layout);
  EXPECT_EQ(fixed_bytes(type.value()), GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Formats,
    SupportedType,
    ::testing::Values(
        Case{"b", TypeId::kBool, "bool", Layout::kBits, 0},
        Case{"c", TypeId::kInt8, "int8", Layout::kFixed, 1},
        Case{"C", TypeId::kUInt8, "uint8", Layout::kFixed, 1},
        Case{"s", TypeId::kInt16, "int16", Layout::kFixed, 2},
        Case{"S", TypeId::kUInt16, "uint16", Layout::kFixed, 2},
        Case{"i", TypeId::kInt32, "int32", Layout::kFixed, 4},
        Case{"I", TypeId::kUInt32, "uint32", Layout::kFixed, 4},
        Case{"l", TypeId::kInt64, "int64", Layout::kFixed, 8},
        Case{"L", TypeId::kUInt64, "uint64", Layout::kFixed, 8},
        Case{"e", TypeId::kFloat16, "float16", Layout::kFixed, 2},
        Case{"f", TypeId::kFloat32, "float32", Layout::kFixed, 4},
        Case{"g", TypeId::kFloat64, "float64", Layout::kFixed, 8},
        Case{"d:15,2", TypeId::kDecimal128, "decimal128(15, 2)", Layout::kFixed, 16},
        Case{"d:38,-3,128", TypeId::kDecimal128, "decimal128(38, -3)", Layout::kFixed, 16},
        Case{"tdD", TypeId::kDate32, "date32", Layout::kFixed, 4},
        Case{"tdm", TypeId::kDate64, "date64", Layout::kFixed, 8},
        Case{"tts", TypeId::kTime32, "time32[s]", Layout::kFixed, 4},
        Case{"ttm", TypeId::kTime32, "time32[ms]", Layout::kFixed, 4},
        Case{"ttu", TypeId::kTime64, "time64[us]", Layout::kFixed, 8},
        Case{"ttn", TypeId::kTime64, "time64[ns]", Layout::kFixed, 8},
        Case{"tss:", TypeId::kTimestamp, "timestamp[s]", Layout::kFixed, 8},
        Case{"tsm:", TypeId::kTimestamp, "timestamp[ms]", Layout::kFixed, 8},
        Case{"tsu:UTC", TypeId::kTimestamp, "timestamp[us, tz=UTC]", Layout::kFixed, 8},
        Case{"tsn:+01:00", TypeId::kTimestamp, "timestamp[ns, tz=+01:00]", Layout::kFixed, 8},
        Case{"tDs", TypeId::kDuration, "duration[s]", Layout::kFixed, 8},
        Case{"tDm", TypeId::kDuration, "duration[ms]", Layout::kFixed, 8},
        Case{"tDu", TypeId::kDuration, "duration[us]", Layout::kFixed, 8},
        Case{"tDn", TypeId::kDuration, "duration[ns]", Layout::kFixed, 8},
        Case{"u", TypeId::kUtf8, "utf8", Layout::kOffsets32, 0},
        Case{"U", TypeId::kLargeUtf8, "large_utf8", Layout::kOffsets64, 0},
        Case{"vu", TypeId::kUtf8View, "utf8_view", Layout::kViews, 16},
        Case{"z", TypeId::kBinary, "binary", Layout::kOffsets32, 0},
        Case{"Z", TypeId::kLargeBinary, "large_binary", Layout::kOffsets64, 0},
        Case{"vz", TypeId::kBinaryView, "binary_view", Layout::kViews, 16}));

struct Refusal {
  const char* format;
  const char* named;
};

class RefusedType : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedType, NamesTypeAndFormat) {
  const Result<DataType> type = parse_arrow_format(GetParam().format);
  ASSERT_FALSE(type.ok());
  EXPECT_EQ(type.error().code, ErrorCode::kUnsupportedType);
  EXPECT_THAT(type.error().message, HasSubstr(GetParam().named));
  EXPECT_THAT(type.error().message, HasSubstr(GetParam().format));
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         RefusedType,
                         ::testing::Values(Refusal{"n", "null"},
                                           Refusal{"w:16", "fixed_size_binary"},
                                           Refusal{"tiM", "interval[months]"},
                                           Refusal{"tiD", "interval[days, time]"},
                                           Refusal{"tin", "interval[months, days, nanoseconds]"},
                                           Refusal{"+l", "list"},
                                           Refusal{"+L", "large_list"},
                                           Refusal{"+vl", "list_view"},
                                           Refusal{"+vL", "large_list_view"},
                                           Refusal{"+w:3", "fixed_size_list"},
                                           Refusal{"+s", "struct"},
                                           Refusal{"+m", "map"},
                                           Refusal{"+ud:0,1", "dense_union"},
                                           Refusal{"+us:0", "sparse_union"},
                                           Refusal{"+r", "run_end_encoded"},
                                           Refusal{"d:9,2,32", "decimal"},
                                           Refusal{"d:9,2,64", "decimal"},
                                           Refusal{"d:76,2,256", "decimal"},
                                           Refusal{"d:39,2", "decimal"},
                                           Refusal{"d:0,0", "decimal"},
                                           Refusal{"d:", "decimal"},
                                           Refusal{"d:9", "decimal"},
                                           Refusal{"d:9,", "decimal"},
                                           Refusal{"d:9,x", "decimal"},
                                           Refusal{"d:99999999999,1", "decimal"},
                                           Refusal{"ts", "unknown"},
                                           Refusal{"tsu", "unknown"},
                                           Refusal{"tsx:UTC", "unknown"},
                                           Refusal{"ll", "unknown"},
                                           Refusal{"", "unknown"}));

DataType parsed(const char* format) { return parse_arrow_format(format).value(); }

DataType dictionary_of(const char* indices, const char* values, bool ordered = false) {
  DataType type = parsed(indices);
  type.id = TypeId::kDictionary;
  type.dictionary = std::make_shared<const DataType>(parsed(values));
  type.ordered_dictionary = ordered;
  return type;
}

TEST(DictionaryType, IsItsIndexInMemoryAndItsValuesInName) {
  const DataType type = dictionary_of("S", "vu");
  EXPECT_EQ(type_name(type), "dictionary<uint16, utf8_view>");
  EXPECT_EQ(layout(type), Layout::kFixed);
  EXPECT_EQ(fixed_bytes(type), 2);
  EXPECT_EQ(dictionary_index(type), TypeId::kUInt16);
}

TEST(TypeEquality, ComparesMeaningNotSpelling) {
  EXPECT_EQ(parsed("d:9,2"), parsed("d:9,2,128"));
  EXPECT_FALSE(parsed("d:9,2") == parsed("d:9,3"));
  EXPECT_FALSE(parsed("d:9,2") == parsed("d:8,2"));
  EXPECT_FALSE(parsed("tsu:UTC") == parsed("tsu:"));
  EXPECT_FALSE(parsed("tsu:UTC") == parsed("tsn:UTC"));
  EXPECT_FALSE(parsed("tts") == parsed("ttm"));
  EXPECT_FALSE(parsed("l") == parsed("L"));
  EXPECT_EQ(dictionary_of("i", "u"), dictionary_of("i", "u"));
  EXPECT_FALSE(dictionary_of("i", "u") == dictionary_of("l", "u"));
  EXPECT_FALSE(dictionary_of("i", "u") == dictionary_of("i", "U"));
  EXPECT_FALSE(dictionary_of("i", "u") == dictionary_of("i", "u", true));
}

TEST(TypeGroups, HoldTheirTypesOnly) {
  EXPECT_TRUE(is_signed_integer(TypeId::kInt8) && is_signed_integer(TypeId::kInt64));
  EXPECT_FALSE(is_signed_integer(TypeId::kBool) || is_signed_integer(TypeId::kUInt8));
  EXPECT_TRUE(is_unsigned_integer(TypeId::kUInt8) && is_unsigned_integer(TypeId::kUInt64));
  EXPECT_FALSE(is_unsigned_integer(TypeId::kInt64) || is_unsigned_integer(TypeId::kFloat16));
  EXPECT_TRUE(is_floating(TypeId::kFloat16) && is_floating(TypeId::kFloat64));
  EXPECT_FALSE(is_floating(TypeId::kDecimal128));
  EXPECT_TRUE(is_string(TypeId::kUtf8) && is_string(TypeId::kUtf8View));
  EXPECT_FALSE(is_string(TypeId::kBinary));
  EXPECT_TRUE(is_binary(TypeId::kBinary) && is_binary(TypeId::kBinaryView));
  EXPECT_FALSE(is_binary(TypeId::kUtf8View) || is_binary(TypeId::kDictionary));
}

}  // namespace
}  // namespace crossdock
