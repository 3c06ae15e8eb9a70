// Paths of every form, and what is none.
#include "expressions/json_path.hpp"

#include <gtest/gtest.h>

namespace crossdock::expressions {
namespace {

// ".key", "[place]", and ".key[place]" of a number of a pointer.
std::string text_of(std::string_view path) {
  std::string text;
  const Result<JsonPath> steps = parse_json_path(path);
  if (!steps.ok()) return "none";
  for (const JsonStep& step : steps.value()) {
    if (step.key) text += "." + *step.key;
    if (step.place) text += fmt::format("[{}]", *step.place);
    text += ";";
  }
  return text;
}

TEST(JsonPath, KeysAndPlaces) {
  EXPECT_EQ(text_of(""), "");
  EXPECT_EQ(text_of("$"), "");
  EXPECT_EQ(text_of("$.a.b[0][12].c d"), ".a;.b;[0];[12];.c d;");
  EXPECT_EQ(text_of("$[-1][#-2][-0][00]"), "[-1];[-2];[0];[0];");
  EXPECT_EQ(text_of("$[#]"), fmt::format("[{}];", INT64_MAX));
  EXPECT_EQ(text_of(R"($."a.b"[0]."q\"\\\n")"), R"(.a.b;[0];.q"\\n;)");
  EXPECT_EQ(text_of(R"($.a"b*)"), R"(.a"b*;)");
}

TEST(JsonPath, PointersAndKeysAlone) {
  EXPECT_EQ(text_of("/a/0/01/-1/"), ".a;.0[0];.01;.-1;.;");
  EXPECT_EQ(text_of("/~0~1~01~2~"), ".~/~1~2~;");
  EXPECT_EQ(text_of("/99999999999999999999"), ".99999999999999999999;");
  EXPECT_EQ(text_of("a.b[0]"), ".a.b[0];");
  EXPECT_EQ(text_of("0"), ".0;");
}

TEST(JsonPath, WhatIsNone) {
  for (const char* path : {"$a",
                           "$ .a",
                           "$.",
                           "$.a.",
                           "$..a",
                           "$.*",
                           "$.a[*]",
                           "$[",
                           "$[]",
                           "$[x]",
                           "$[0",
                           "$[ 0 ]",
                           "$[+1]",
                           "$[#1]",
                           "$[-]",
                           "$[#-]",
                           "$[-x]",
                           "$.[0]",
                           "$[\"a\"]",
                           "$.\"a",
                           "$.\"\"",
                           "$.\"a\"b",
                           "$[99999999999999999999]",
                           "$[--1]",
                           "$[#--1]"}) {
    EXPECT_EQ(text_of(path), "none") << path;
  }
}

}  // namespace
}  // namespace crossdock::expressions
