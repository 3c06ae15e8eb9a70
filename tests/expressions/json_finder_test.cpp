// What is at a path of documents that follow each other, against a scanner that reads each as a whole.
#include "expressions/json_finder.hpp"

#include <gtest/gtest.h>

namespace crossdock::expressions {
namespace {

const char* const kPaths[] = {"",
                              "$.a",
                              "$.b",
                              "$.a[0]",
                              "$.a[#-1]",
                              "$.a[-2]",
                              "$.a[-2].c",
                              "$.c.d",
                              "$.a.b.c",
                              "$.none",
                              "$[0]",
                              "$[-1]",
                              "$.c"};

// The finding of the last document, after those before it.
JsonFinding after(const std::vector<std::string>& documents, const JsonPath& path, bool is_known) {
  JsonFinder finder(path);
  JsonFinding finding;
  for (const std::string& document : documents) finding = finder.find(document, is_known);
  return finding;
}

void expect_like_alone(const std::vector<std::string>& documents) {
  for (const char* text : kPaths) {
    const JsonPath path = parse_json_path(text).value();
    JsonScanner scanner;
    const JsonFinding alone = scanner.find(documents.back(), path);
    for (const bool is_known : {false, alone.is_json}) {
      const JsonFinding finding = after(documents, path, is_known);
      EXPECT_EQ(finding.is_json, alone.is_json) << documents.back() << " at " << text;
      EXPECT_EQ(finding.value, alone.value) << documents.back() << " at " << text;
    }
  }
}

TEST(JsonFinder, DocumentsThatLookAlike) {
  expect_like_alone({R"({"a": 1, "b": "x", "c": {"d": [1, 2]}})",
                     R"({"a": null, "b": "\"y\", ", "c": {"d": [-1e5, "z"]}})"});
  expect_like_alone({R"( [ {"b": 1} , {} , "s" ] )", R"( [ {"b": true} , {} , nan ] )"});
  expect_like_alone({"1", "\"string\""});
  expect_like_alone({"[]", "[]"});
}

TEST(JsonFinder, DocumentsThatDoNot) {
  const std::string first = R"({"a": [{"c": 1}, 2], "b": 3})";
  for (const char* second : {R"({"a": [{"c": 1}, 2, 3], "b": 3})",
                             R"({"a": [{"c": 1}, 2], "b": 3, "d": 4})",
                             R"({"a": [], "b": 3})",
                             R"({"a": [{"c": 1}], "b": 3})",
                             R"({"b": [{"c": 1}, 2], "a": 3})",
                             R"({"a": [{"c": [1]}, 2], "b": 3})",
                             R"({"a": [{"c": 1}, 2], "b": 3)",
                             R"({"a": [{"c": 1}, 2], "b": 3} )",
                             R"({"a": [{"c": 1}, 2], "b": 3}x)",
                             R"({"a": [{"c": 1}, 2], "b": })",
                             R"({"a": [{"c": 01}, 2], "b": 3})",
                             R"({"a": [{"c": tru}, 2], "b": 3})",
                             R"({"a": [{"c": "open}, 2], "b": 3})",
                             R"({"a": [{"c": 1x}, 2], "b": 3})",
                             "",
                             "{",
                             "7"}) {
    expect_like_alone({first, second});
    expect_like_alone({first, first, second, first});
    expect_like_alone({second, first});
  }
}

TEST(JsonFinder, ValuesBehindWhichAnArrayGrows) {
  for (const char* text : {"$[-1]", "$[-2]", "$[#-2][0]"}) {
    const JsonPath path = parse_json_path(text).value();
    const std::string longer = "[[1],[2],3]";
    EXPECT_EQ(after({"[[1],[2]]", longer}, path, true).value,
              JsonScanner().find(longer, path).value)
        << text;
  }
}

TEST(JsonFinder, GapsOfEveryLength) {
  for (size_t bytes = 0; bytes < 40; ++bytes) {
    const std::string key(bytes, 'k');
    expect_like_alone({"{\"" + key + "\":1,\"a\":2}", "{\"" + key + "\":3,\"a\":4}"});
    if (bytes == 0) continue;
    for (const size_t changed : {size_t{0}, bytes / 2, bytes - 1}) {
      std::string other = key;
      other[changed] = 'x';
      expect_like_alone({"{\"" + key + "\":1,\"a\":2}", "{\"" + other + "\":3,\"a\":4}"});
    }
  }
}

TEST(JsonFinder, ManyDocumentsOfManyKinds) {
  const JsonPath path = parse_json_path("$.a").value();
  JsonFinder finder(path);
  for (int i = 0; i < 2000; ++i) {
    std::string document = i / 500 % 2 == 0 ? "{\"b\": 1, \"a\": " : "{\"a\": ";
    if (i % 1000 > 900) document.insert(1, fmt::format("\"{}\": 1, ", i));
    document += std::to_string(i) + "}";
    EXPECT_EQ(finder.find(document, false).value, std::to_string(i));
  }
  const std::string large = "{\"b\": \"" + std::string(5000, 'x') + "\", \"a\": 7}";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(finder.find(large, false).value, "7");
}

}  // namespace
}  // namespace crossdock::expressions
