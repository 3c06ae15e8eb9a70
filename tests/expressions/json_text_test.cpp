// How values of documents are written. tests/oracle compares with DuckDB.
#include "expressions/json_text.hpp"

#include <string>

#include <gtest/gtest.h>

namespace crossdock::expressions {
namespace {

std::string written_once(std::string_view value) {
  const size_t most = most_json_bytes(value);
  std::string text(most, '?');
  const size_t bytes = write_json(value, text.data());
  EXPECT_LE(bytes, most) << value;
  EXPECT_TRUE(!is_written(value) || text.substr(0, bytes) == value) << value;
  text.resize(bytes);
  return text;
}

std::string written(std::string_view value) {
  const std::string text = written_once(value);
  EXPECT_EQ(written_once(text), text);
  return text;
}

TEST(JsonText, SpacesAndCommas) {
  EXPECT_EQ(written(R"([ 1 ,{ "a b" : [ ] , } , ])"), R"([1,{"a b":[]}])");
  EXPECT_EQ(written("[true,false,null,nan,-Infinity]"), "[true,false,null,nan,-Infinity]");
  EXPECT_EQ(written(R"([",", ",]"])"), R"([",",",]"])");
}

TEST(JsonText, NumbersKeepTheirDigits) {
  const std::pair<const char*, const char*> numbers[] = {
      {"0", "0"},
      {"-0", "0"},
      {"-0.0", "-0.0"},
      {"18446744073709551616", "18446744073709551616"},
      {"1.50", "1.5"},
      {"1e5", "100000.0"},
      {"1e20", "100000000000000000000.0"},
      {"1e21", "1e21"},
      {"0.000001", "0.000001"},
      {"0.00000125", "0.00000125"},
      {"0.0000001", "1e-7"},
      {"1.25e-7", "1.25e-7"},
      {"0.1234567890123456789", "0.12345678901234568"},
      {"9007199254740993.0", "9007199254740992.0"},
      {"-1.7976931348623157e308", "-1.7976931348623157e308"},
      {"1e400", "1e400"},
      {"1e-400", "0.0"},
      {"5e-324", "5e-324"}};
  for (const auto& [number, expected] : numbers) EXPECT_EQ(written(number), expected);
}

TEST(JsonText, EscapesWhereThereMustBeSome) {
  EXPECT_EQ(written(R"("\u0041\/\u0022\\\b\f\n\r\t\u001f\u007f\u00e9\ud83d\ude00")"),
            "\"A/\\\"\\\\\\b\\f\\n\\r\\t\\u001F\x7F\xC3\xA9\xF0\x9F\x98\x80\"");
  std::string text(64, '?');
  text.resize(write_unescaped(R"(a\u0000\"\ud83d\ude00)", text.data()));
  EXPECT_EQ(text, std::string("a\0\"\xF0\x9F\x98\x80", 7));
}

TEST(JsonText, EscapesThatAreNone) {
  for (const char* text : {"",
                           "\\",
                           "\\q",
                           "\\u",
                           "\\u12",
                           "\\u12g4",
                           "\\u+123",
                           "\\ud800",
                           "\\udc00",
                           "\\ud800x",
                           "\\ud800\\u0041",
                           "\\ud800\\udc0"}) {
    EXPECT_FALSE(read_escape(text).has_value()) << text;
  }
}

TEST(JsonText, ItemsAndKeys) {
  EXPECT_EQ(count_items("[]"), 0);
  EXPECT_EQ(count_items("[ [1, 2] , {\"a\": [3]}, \"x,y\", ]"), 3);
  EXPECT_EQ(count_items("{\"a\": {\"b\": 1}, \"c\": [2, 3]}"), 2);
  EXPECT_EQ(count_items("12"), 0);
  std::string text(64, '?');
  text.resize(write_keys(R"({ "a" : {"b": 1}, "\u0063": [2], "a": 3 })", text.data()));
  EXPECT_EQ(text, R"(["a","c","a"])");
  text.resize(write_keys("[1]", text.data()));
  EXPECT_EQ(text, "[]");
}

TEST(JsonText, Types) {
  const std::pair<const char*, const char*> types[] = {{"{}", "OBJECT"},
                                                       {"[]", "ARRAY"},
                                                       {"\"\"", "VARCHAR"},
                                                       {"true", "BOOLEAN"},
                                                       {"null", "NULL"},
                                                       {"nan", "DOUBLE"},
                                                       {"7", "UBIGINT"},
                                                       {"-7", "BIGINT"},
                                                       {"-0", "BIGINT"},
                                                       {"7.0", "DOUBLE"},
                                                       {"18446744073709551615", "UBIGINT"},
                                                       {"18446744073709551616", "DOUBLE"},
                                                       {"-9223372036854775808", "BIGINT"},
                                                       {"-9223372036854775809", "DOUBLE"},
                                                       {"-inf", "DOUBLE"}};
  for (const auto& [value, type] : types) EXPECT_EQ(json_type_name(value), type) << value;
}

}  // namespace
}  // namespace crossdock::expressions
