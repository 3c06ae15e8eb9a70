// What is an expression and what is not, and which types calls have.
#include "expressions/expression_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock::expressions {
namespace {

Schema make_schema() {
  Schema schema;
  const auto add = [&](const char* name, const char* format) {
    schema.fields.push_back({name, parse_arrow_format(format).value(), true, ""});
  };
  add("i8", "c");
  add("i64", "l");
  add("u32", "I");
  add("u64", "L");
  add("f32", "f");
  add("price", "d:15,2");
  add("wide", "d:38,4");
  add("day", "tdD");
  add("zoned", "tsu:Asia/Tokyo");
  add("flag", "b");
  add("name", "u");
  add("bytes", "z");
  return schema;
}

std::string parsed(const std::string& json) {
  const Result<ExpressionPtr> expressions_read = parse_expression(json, make_schema());
  if (!expressions_read.ok())
    return code_text(expressions_read.error().code) + " " + expressions_read.error().message;
  return expression_text(*expressions_read.value()) + " : " +
         type_name(expressions_read.value()->type);
}

std::string call_json(const std::string& function,
                      const std::string& of,
                      const std::string& more = "") {
  return R"({"call": ")" + function + R"(", "of": [)" + of + "]" + more + "}";
}

std::string column_json(const std::string& name) { return R"({"column": ")" + name + R"("})"; }

TEST(ExpressionJson, TypesFollowTheArguments) {
  EXPECT_EQ(parsed(column_json("price")), "price : decimal128(15, 2)");
  EXPECT_EQ(parsed(call_json("add", column_json("i8") + "," + column_json("i64"))),
            "to_integer(i8, int64) + i64 : int64");
  EXPECT_EQ(parsed(call_json("add", column_json("i8") + "," + column_json("u32"))),
            "to_integer(i8, int64) + to_integer(u32, int64) : int64");
  EXPECT_EQ(parsed(call_json("multiply", column_json("price") + "," + column_json("price"))),
            "price * price : decimal128(31, 4)");
  EXPECT_EQ(parsed(call_json("multiply", column_json("wide") + "," + column_json("price"))),
            "wide * price : decimal128(38, 6)");
  EXPECT_EQ(
      parsed(call_json("subtract", R"({"literal": "1", "type": "d:1,0"},)" + column_json("price"))),
      "1.00 - price : decimal128(16, 2)");
  EXPECT_EQ(parsed(call_json("divide", column_json("price") + "," + column_json("i64"))),
            "to_real(price, float64) / to_real(i64, float64) : float64");
  EXPECT_EQ(parsed(call_json("multiply", column_json("f32") + "," + column_json("i8"))),
            "f32 * to_real(i8, float32) : float32");
  EXPECT_EQ(parsed(call_json("less", column_json("day") + R"(,{"literal": 3, "type": "tdD"})")),
            "day < 1970-01-04 : bool");
  EXPECT_EQ(
      parsed(call_json("less", column_json("wide") + R"(,{"literal": "1", "type": "d:38,38"})")),
      "wide < 0.00000000000000000000000000000000000001 : bool");
  EXPECT_EQ(parsed(call_json("less", column_json("i64") + "," + column_json("u64"))),
            "i64 < u64 : bool");
  EXPECT_EQ(parsed(call_json("less", column_json("name") + "," + column_json("name"))),
            "name < name : bool");
  EXPECT_EQ(parsed(call_json("like", column_json("name"), R"(, "values": ["a%_"])")),
            "like(name, 'a%_') : bool");
  EXPECT_EQ(parsed(call_json("is_in", column_json("name"), R"(, "values": ["a", "b"])")),
            "is_in(name, 'a', 'b') : bool");
  EXPECT_EQ(parsed(call_json("cast", column_json("i8"), R"(, "type": "d:9,2")")),
            "to_decimal(i8, decimal128(9, 2)) : decimal128(9, 2)");
  EXPECT_EQ(parsed(call_json("case",
                             column_json("flag") + "," + column_json("i8") +
                                 R"(,{"literal": null, "type": "l"})")),
            "case(flag, to_integer(i8, int64), null) : int64");
  EXPECT_EQ(parsed(call_json(
                "coalesce", column_json("i8") + "," + column_json("i8") + "," + column_json("i8"))),
            "coalesce(i8, coalesce(i8, i8)) : int8");
  EXPECT_EQ(parsed(call_json("year", column_json("day"))), "year(day) : int64");
  EXPECT_EQ(parsed(call_json("remainder", column_json("f32") + "," + column_json("f32"))),
            "f32 % f32 : float32");
}

TEST(ExpressionJson, ComputedStringsAreViews) {
  const std::string name = column_json("name");
  EXPECT_EQ(parsed(call_json("coalesce", name + R"(,{"literal": "x", "type": "U"})")),
            "coalesce(name, 'x') : utf8_view");
  EXPECT_EQ(parsed(call_json("substring", name + R"(,{"literal": 0, "type": "i"})")),
            "substring(name, 0) : utf8_view");
  EXPECT_EQ(parsed(call_json("concat", name + "," + call_json("upper", name))),
            "concat(name, upper(name)) : utf8_view");
  EXPECT_EQ(parsed(call_json("replace", name, R"(, "values": ["a", "b"])")),
            "replace(name, 'a', 'b') : utf8_view");
  EXPECT_EQ(parsed(call_json("length", name)), "length(name) : int64");
  EXPECT_EQ(parsed(call_json("cast", column_json("i8"), R"(, "type": "u")")),
            "to_string(i8, utf8_view) : utf8_view");
  EXPECT_EQ(parsed(call_json("greatest", name + "," + name)), "greatest(name, name) : utf8_view");
}

TEST(ExpressionJson, FunctionsByPatternsAndPlacesHaveTypes) {
  const std::string name = column_json("name");
  const std::string one = R"(,{"literal": 1, "type": "l"})";
  EXPECT_EQ(parsed(call_json("find", name + "," + name)), "find(name, name) : int64");
  EXPECT_EQ(parsed(call_json("repeat", name + "," + column_json("i8"))),
            "repeat(name, to_integer(i8, int64)) : utf8_view");
  EXPECT_EQ(parsed(call_json("split_part", name + "," + name + one)),
            "split_part(name, name, 1) : utf8_view");
  EXPECT_EQ(parsed(call_json("hex", column_json("u64"))), "hex(u64) : utf8_view");
  EXPECT_EQ(parsed(call_json("code_point", name)), "code_point(name) : int64");
}

TEST(ExpressionJson, FunctionsOfNumbersAndDatesHaveTypes) {
  EXPECT_EQ(parsed(call_json("power", column_json("i64") + R"(,{"literal": 2, "type": "l"})")),
            "to_real(i64, float64) ** 2 : float64");
  EXPECT_EQ(parsed(call_json("floor", column_json("price"))), "floor(price) : decimal128(15, 2)");
  EXPECT_EQ(parsed(call_json("ceil", column_json("i8"))), "i8 : int8");
  EXPECT_EQ(parsed(call_json("sign", column_json("price"))), "sign(price) : int8");
  EXPECT_EQ(parsed(call_json("week", column_json("day"))), "week(day) : int64");
  EXPECT_EQ(
      parsed(call_json("truncate", column_json("day") + R"(,{"literal": "month", "type": "u"})")),
      "truncate(day, 'month') : date32");
  const std::string format = R"(,{"literal": "%Y", "type": "u"})";
  EXPECT_EQ(parsed(call_json("strftime", column_json("day") + format)),
            "strftime(day, '%Y') : utf8_view");
  EXPECT_EQ(parsed(call_json("strptime", column_json("name") + format)),
            "strptime(name, '%Y') : timestamp[us]");
  EXPECT_EQ(parsed(call_json("date_diff",
                             column_json("day") + "," + column_json("day") +
                                 R"(,{"literal": "week", "type": "u"})")),
            "date_diff(day, day, 'week') : int64");
  EXPECT_EQ(parsed(call_json("bit_and", column_json("i8") + "," + column_json("u32"))),
            "bit_and(to_integer(i8, int64), to_integer(u32, int64)) : int64");
  EXPECT_EQ(parsed(call_json("shift_left", column_json("i8") + "," + column_json("i64"))),
            "i8 << i64 : int8");
  EXPECT_EQ(parsed(call_json("bit_not", column_json("u64"))), "bit_not(u64) : uint64");
  EXPECT_EQ(parsed(call_json("last_day", column_json("day"))), "last_day(day) : date32");
  EXPECT_EQ(parsed(call_json("epoch", column_json("day"))), "epoch(day) : float64");
}

TEST(ExpressionJson, WhatHasNoTypeIsRefused) {
  for (const std::string& json : {
           call_json("add", column_json("i64") + "," + column_json("u64")),
           call_json("add", column_json("flag") + "," + column_json("i64")),
           call_json("add", column_json("i64")),
           call_json("remainder", column_json("price") + "," + column_json("i8")),
           call_json("floor_divide", column_json("price") + "," + column_json("i8")),
           call_json("negate", column_json("u32")),
           call_json("less", column_json("name") + "," + column_json("i8")),
           call_json("less", column_json("day") + "," + column_json("i64")),
           call_json("and_kleene", column_json("flag") + "," + column_json("i8")),
           call_json("case", column_json("i8") + "," + column_json("i8") + "," + column_json("i8")),
           call_json("case", column_json("flag") + "," + column_json("i8")),
           call_json("coalesce", ""),
           call_json("coalesce", column_json("name") + "," + column_json("i8")),
           call_json("concat", column_json("name") + "," + column_json("i8")),
           call_json("substring", column_json("name")),
           call_json("substring", column_json("name") + "," + column_json("price")),
           call_json("lpad", column_json("name") + "," + column_json("i8")),
           call_json("greatest", column_json("flag") + "," + column_json("flag")),
           call_json("find", column_json("name")),
           call_json("replace", column_json("name") + "," + column_json("name")),
           call_json("bit_and", column_json("u64") + "," + column_json("i64")),
           call_json("bit_not", column_json("price")),
           call_json("trunc", column_json("price")),
           call_json("millisecond", column_json("day")),
           call_json("strftime", column_json("day") + "," + column_json("name")),
           call_json("make_date", column_json("i8") + "," + column_json("i8")),
           call_json("hex", column_json("name")),
           call_json("extract", column_json("name") + "," + column_json("i64")),
           call_json("split_part", column_json("name") + "," + column_json("i64")),
           call_json("sqrt", column_json("name")),
           call_json("round", column_json("price")),
           call_json("truncate", column_json("day") + R"(,{"literal": "days", "type": "u"})"),
           call_json("add_months", column_json("zoned") + R"(,{"literal": 1, "type": "l"})"),
           call_json("year", column_json("zoned")),
           call_json("hour", column_json("day")),
           call_json("starts_with", column_json("i8"), R"(, "values": [1])"),
           call_json("starts_with", column_json("name")),
           call_json("is_in", column_json("f32"), R"(, "values": [1])"),
           call_json("cast", column_json("price"), R"(, "type": "l")"),
           call_json("cast", column_json("name"), R"(, "type": "l")"),
           column_json("bytes"),
       }) {
    EXPECT_THAT(parsed(json), testing::StartsWith("CD-102")) << json;
  }
}

TEST(ExpressionJson, WhatIsNotOfTheFormIsRefused) {
  for (const std::string& json : std::vector<std::string>{
           "",
           "{",
           "[]",
           "3",
           "{}",
           R"({"column": 3})",
           R"({"literal": 3})",
           R"({"literal": 3, "type": 4})",
           R"({"literal": "x", "type": "l"})",
           R"({"literal": 1.5, "type": "l"})",
           R"({"literal": 300, "type": "c"})",
           R"({"literal": -1, "type": "L"})",
           R"({"literal": "1000", "type": "d:3,1"})",
           R"({"literal": "x", "type": "g"})",
           R"({"literal": 1, "type": "b"})",
           R"({"literal": 1, "type": "u"})",
           R"({"call": "add"})",
           R"({"call": "plus", "of": []})",
           R"({"call": "cast", "of": []})",
           R"({"call": "is_in", "of": [{"column": "i8"}], "values": 3})",
           R"({"call": "is_in", "of": [{"column": "i8"}], "values": [null]})",
           R"({"call": "is_in", "of": [], "values": [1]})",
       }) {
    EXPECT_THAT(parsed(json), testing::StartsWith("CD-105")) << json;
  }
  EXPECT_THAT(parsed(column_json("nome")), testing::StartsWith("CD-101"));
  EXPECT_THAT(parsed(R"({"literal": 1, "type": "+l"})"), testing::StartsWith("CD-102"));
}

TEST(ExpressionJson, DepthAndSizeAreBounded) {
  std::string deep = column_json("i8");
  for (int i = 0; i <= kMaxExpressionDepth; ++i) deep = call_json("negate", deep);
  EXPECT_THAT(parsed(deep), testing::HasSubstr("deep"));
  std::string brackets(200'000, '[');
  EXPECT_THAT(parsed(brackets), testing::StartsWith("CD-105"));
  std::string many = column_json("i8");
  for (int i = 0; i < kMaxExpressionNodes; ++i) many += "," + column_json("i8");
  EXPECT_THAT(parsed(call_json("coalesce", many)), testing::HasSubstr("parts"));
}

TEST(ExpressionJson, ListsAreReadInOrder) {
  const Schema schema = make_schema();
  const auto expressions_read =
      parse_expressions("[" + column_json("i8") + "," + column_json("flag") + "]", schema);
  ASSERT_TRUE(expressions_read.ok());
  ASSERT_EQ(expressions_read.value().size(), 2u);
  EXPECT_EQ(expressions_read.value()[1]->name, "flag");
  EXPECT_FALSE(parse_expressions(column_json("i8"), schema).ok());
}

}  // namespace
}  // namespace crossdock::expressions
