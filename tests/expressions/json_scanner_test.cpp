// What is at paths of documents, and where documents that are none cease to be. tests/oracle compares with DuckDB.
#include "expressions/json_scanner.hpp"

#include <gtest/gtest.h>

namespace crossdock::expressions {
namespace {

// The value as it is written, "-" of nothing, and the byte of the fault of what is no JSON.
std::string at(std::string_view document, std::string_view path, bool is_known = false) {
  JsonScanner scanner;
  // Memory of its own, so that the sanitizer sees reads beyond the end.
  const std::vector<char> bytes(document.begin(), document.end());
  const JsonFinding finding =
      scanner.find({bytes.data(), bytes.size()}, parse_json_path(path).value(), is_known);
  if (!finding.is_json) return fmt::format("fault at {}", scanner.fault());
  return std::string(finding.value.value_or("-"));
}

TEST(JsonScanner, FindsValuesAsTheyAreWritten) {
  const std::string document =
      R"( {"a": [1, {"b" :"x\"y"}, [ ] ], "a": 2, "\u0063": nan , "": -0e1,} )";
  EXPECT_EQ(at(document, "$.a"), R"([1, {"b" :"x\"y"}, [ ] ])");
  EXPECT_EQ(at(document, "$.a[1].b"), R"("x\"y")");
  EXPECT_EQ(at(document, "$.a[-1]"), "[ ]");
  EXPECT_EQ(at(document, "$.a[#-3]"), "1");
  EXPECT_EQ(at(document, "c"), "nan");
  EXPECT_EQ(at(document, "/"), "-0e1");
  for (const char* path : {"b", "$.a[3]", "$.a[-4]", "$.a.b", "$[0]", "$.a[0][0]", "$.a[2][0]"}) {
    EXPECT_EQ(at(document, path), "-") << path;
    EXPECT_EQ(at(document, path, true), "-") << path;
  }
}

TEST(JsonScanner, ReadsADocumentToItsEnd) {
  EXPECT_EQ(at(R"({"a": 1, "b": x})", "a"), "fault at 14");
  EXPECT_EQ(at(R"({"a": 1, "b": x})", "a", true), "1");  // of what is known no more is read
  EXPECT_EQ(at(R"({"a": 1} x)", "a"), "fault at 9");
  EXPECT_EQ(at(R"({"a": 1)", "a"), "fault at 7");
  EXPECT_EQ(at(R"([1, 2}])", "$[0]"), "fault at 5");
}

TEST(JsonScanner, NamesTheByteOfAFault) {
  const std::pair<const char*, size_t> faults[] = {
      {"", 0},       {" ", 1},         {"tru", 0},         {"-", 1},       {"-a", 1},
      {"01", 0},     {"1.", 2},        {"1e+", 3},         {"{,}", 1},     {"[,]", 1},
      {"[1,,]", 3},  {"{\"a\"}", 4},   {"{\"a\":}", 5},    {"\"\\q\"", 1}, {"\"a\tb\"", 2},
      {"\"open", 5}, {"\"\\ud8\"", 1}, {"\"\\ud800\"", 1}, {"nan1", 3},    {"[1 2]", 3}};
  for (const auto& [document, byte] : faults) {
    EXPECT_EQ(at(document, "$"), fmt::format("fault at {}", byte)) << document;
  }
}

TEST(JsonScanner, StringsOfEveryLength) {
  for (size_t bytes = 0; bytes < 40; ++bytes) {
    const std::string plain(bytes, 'x');
    EXPECT_EQ(at("[\"" + plain + "\"]", "$[0]"), "\"" + plain + "\"");
    EXPECT_EQ(at("{\"" + plain + "\":1}", "/" + plain), "1");
    EXPECT_EQ(at("\"" + plain + "\x1f\"", "$"), fmt::format("fault at {}", bytes + 1));
    EXPECT_EQ(at("\"" + plain + "\\u00", "$"), fmt::format("fault at {}", bytes + 1));
    EXPECT_EQ(at("\"" + plain, "$"), fmt::format("fault at {}", bytes + 1));
  }
}

TEST(JsonScanner, ArraysAndObjectsInEachOther) {
  for (const size_t levels : {1, 2, 63, 64, 65, 127, 128, 129, 1000}) {
    std::string opening, closing;
    for (size_t i = 0; i < levels; ++i) {
      opening += i % 3 == 0 ? "{\"a\":" : "[";
      closing.insert(0, i % 3 == 0 ? "}" : "]");
    }
    EXPECT_EQ(at(opening + "7" + closing, "$"), opening + "7" + closing);
    EXPECT_EQ(at(opening + "7" + closing, "$.a[0].no"), "-");
    closing[levels / 2] = closing[levels / 2] == '}' ? ']' : '}';
    EXPECT_EQ(at(opening + "7" + closing, "$"),
              fmt::format("fault at {}", opening.size() + 1 + levels / 2));
  }
  const size_t most = JsonScanner::kMostLevels;
  EXPECT_EQ(at(std::string(most, '[') + std::string(most, ']'), "$.a"), "-");
  EXPECT_EQ(at(std::string(most + 1, '['), "$"), fmt::format("fault at {}", most));
}

TEST(JsonScanner, IsUsedAgain) {
  JsonScanner scanner;
  EXPECT_FALSE(scanner.find(std::string(200, '['), {}).is_json);
  EXPECT_TRUE(scanner.find("{\"a\": [1]}", {}).is_json);
  EXPECT_FALSE(scanner.find("]", {}).is_json);
}

}  // namespace
}  // namespace crossdock::expressions
