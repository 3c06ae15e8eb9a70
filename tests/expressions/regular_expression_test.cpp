// What RegularExpression answers beside RE2: groups that take no part, what a replacement may name, and long strings.
#include "expressions/regular_expression.hpp"

#include <random>

#include <gtest/gtest.h>

namespace crossdock::expressions {
namespace {

std::shared_ptr<const RegularExpression> compiled(std::string_view pattern) {
  auto result = RegularExpression::compile(pattern);
  EXPECT_TRUE(result.ok()) << pattern;
  return result.value();
}

TEST(RegularExpression, GroupsThatTakeNoPartAreEmpty) {
  const auto regular = compiled("(a)|(b)(c)?");
  EXPECT_EQ(regular->group("xb", 0), "b");
  EXPECT_EQ(regular->group("xb", 1), "");
  EXPECT_EQ(regular->group("xb", 2), "b");
  EXPECT_EQ(regular->group("xb", 3), "");
  EXPECT_EQ(regular->group("xyz", 0), "");
  EXPECT_TRUE(regular->check_group(3).ok());
  EXPECT_FALSE(regular->check_group(4).ok());
  EXPECT_FALSE(regular->check_group(-1).ok());
}

TEST(RegularExpression, ReplacesOneMatchOrAll) {
  const auto regular = compiled("(b)");
  std::string string = "abab";
  EXPECT_TRUE(regular->replace("<\\1>", false, &string));
  EXPECT_EQ(string, "a<b>ab");
  EXPECT_TRUE(regular->replace("", true, &string));
  EXPECT_EQ(string, "a<>a");
  EXPECT_FALSE(regular->replace("x", true, &string));
  EXPECT_EQ(string, "a<>a");
  EXPECT_TRUE(regular->check_replacement("\\1\\0").ok());
  EXPECT_FALSE(regular->check_replacement("\\2").ok());
}

// What RE2 itself says of the same pattern, written so that nothing is dropped of it.
TEST(RegularExpression, MatchesGoToTheEndOfTheString) {
  std::mt19937 random(3);
  const std::vector<std::string> letters = {"a", "b", "/", "\n", "\xC3\xBC", "\xFF"};
  for (const std::string pattern :
       {"^a?([^/]+)/", "(a|b)/", "b*", "(a+?)", "(?i)A(b)", "(?m)^(b)", "a\\", "[.]"}) {
    const auto regular = compiled(pattern + ".*$");
    const auto whole = compiled("(?:" + pattern + ".*$)");
    for (int i = 0; i < 2'000; ++i) {
      std::string text;
      for (size_t k = random() % 12; k > 0; --k) text += letters[random() % letters.size()];
      for (const int32_t group : {0, 1}) {
        if (!whole->check_group(group).ok()) continue;
        EXPECT_EQ(regular->group(text, group), whole->group(text, group)) << pattern << text;
      }
      std::string replaced = text;
      std::string expected = text;
      EXPECT_EQ(regular->replace("<\\0>", false, &replaced),
                whole->replace("<\\0>", false, &expected));
      EXPECT_EQ(replaced, expected) << pattern << text;
    }
  }
}

TEST(RegularExpression, BadPatternsSayWhatIsWrong) {
  for (const char* pattern : {"(", "a**", "[", "\\", "a{1001}", "(?<x"}) {
    const auto result = RegularExpression::compile(pattern);
    ASSERT_FALSE(result.ok()) << pattern;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  }
  const auto result = RegularExpression::compile(std::string(200, '('));
  ASSERT_FALSE(result.ok());
  EXPECT_LT(result.error().message.size(), 200U);
}

TEST(RegularExpression, TimeGrowsWithTheStringAlone) {
  const auto regular = compiled("(a*)*(a*)*b");
  EXPECT_FALSE(regular->finds(std::string(1 << 20, 'a')));
  EXPECT_TRUE(regular->finds(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace crossdock::expressions
