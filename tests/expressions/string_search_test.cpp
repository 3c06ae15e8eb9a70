// Patterns against a recursive matcher of one page, the search of parts against std::string, and case mappings.
#include "expressions/string_search.hpp"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expressions/letter_case.hpp"
#include "expressions/utf8.hpp"

namespace crossdock::expressions {
namespace {

bool fits(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '%') {
    for (size_t i = 0; i <= text.size(); ++i) {
      if (fits(pattern.substr(1), text.substr(i))) return true;
    }
    return false;
  }
  if (text.empty()) return false;
  if (pattern[0] == '_') {
    const char* behind = next_character(text.data(), text.data() + text.size());
    return fits(pattern.substr(1), text.substr(static_cast<size_t>(behind - text.data())));
  }
  if (pattern[0] == '\\') pattern.remove_prefix(1);
  return pattern[0] == text[0] && fits(pattern.substr(1), text.substr(1));
}

std::string drawn(std::mt19937& random, const std::vector<std::string>& letters, int most) {
  std::string letters_drawn;
  const auto count = std::uniform_int_distribution<int>(0, most)(random);
  std::uniform_int_distribution<size_t> which(0, letters.size() - 1);
  for (int i = 0; i < count; ++i) letters_drawn += letters[which(random)];
  return letters_drawn;
}

TEST(StringSearch, PatternsMatchAsTheirDefinitionSays) {
  std::mt19937 random(7);
  const std::vector<std::string> letters = {
      "a", "b", "ab", "\xC3\xBC", "%", "_", std::string(1, '\0')};
  const std::vector<std::string> signs = {
      "a", "b", "ab", "\xC3\xBC", "%", "%", "_", "\\%", "\\_", "\\a", std::string(1, '\0')};
  int matches = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string pattern = drawn(random, signs, 7);
    const std::string text = drawn(random, letters, 9);
    const bool expected = fits(pattern, text);
    ASSERT_EQ(StringPattern::like(pattern).matches(text), expected) << pattern << " of " << text;
    matches += expected ? 1 : 0;
  }
  EXPECT_GT(matches, 10'000);
}

TEST(Utf8, CharactersAreTheBytesThatContinueNone) {
  std::mt19937 random(13);
  const std::vector<std::string> letters = {
      "a", "\xC3\xBC", "\xE2\x82\xAC", "\xF0\x9F\x9A\xA2", "\x80", "\xFF"};
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = drawn(random, letters, 60);
    EXPECT_EQ(count_characters(text),
              std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
  }
}

TEST(StringSearch, PartsAreSearchedForEverywhere) {
  std::mt19937 random(11);
  for (int i = 0; i < 50'000; ++i) {
    const std::string text = drawn(random, {"a", "b", "aab", "ba"}, 60);
    const std::string part = drawn(random, {"a", "b", "ab"}, 6);
    ASSERT_EQ(find_string(text, part), text.find(part)) << part << " in " << text;
  }
  for (size_t size = 0; size < 70;
       ++size) {  // every place of every part, alone among others and with half of it
    for (size_t bytes = 1; bytes <= std::min<size_t>(size, 40); ++bytes) {
      const std::string part = std::string(bytes / 2, 'p') + std::string(bytes - bytes / 2, 'q');
      for (size_t at = 0; at + bytes <= size; ++at) {
        std::string text(size, at % 2 == 0 ? 'q' : 'p');
        text.replace(at, bytes, part);
        ASSERT_EQ(find_string(text, part), text.find(part)) << part << " in " << text;
      }
    }
  }
  const std::string far = std::string(65'536, 'x') + "needle";
  EXPECT_EQ(find_string(far, "needle"), 65'536u);
  EXPECT_EQ(find_string(far, "needles"), std::string_view::npos);
}

TEST(StringSearch, RowsThatAreNotValidHaveNoPart) {
  const std::string_view strings[] = {"a needle", "a thread", "needles and no thread", "needle"};
  const uint8_t valid[] = {1, 1, 0, 1};
  uint8_t out[4];
  have_part(strings, nullptr, 4, "needle", out);
  EXPECT_THAT(out, testing::ElementsAre(1, 0, 1, 1));
  have_part(strings, valid, 4, "needle", out);
  EXPECT_THAT(out, testing::ElementsAre(1, 0, 0, 1));
}

TEST(StringSearch, SimpleShapes) {
  EXPECT_TRUE(StringPattern::like("%special%requests%").matches("a special set of requests."));
  EXPECT_FALSE(StringPattern::like("%special%requests%").matches("requests of a special set"));
  EXPECT_TRUE(StringPattern::like("").matches(""));
  EXPECT_FALSE(StringPattern::like("").matches("a"));
  EXPECT_TRUE(StringPattern::like("%").matches(""));
  EXPECT_FALSE(StringPattern::like("ab%bc").matches("abc"));
  EXPECT_TRUE(StringPattern::like("__").matches("\xC3\xBC\xE2\x82\xAC"));
  EXPECT_TRUE(StringPattern::like("abc\\").matches("abc"));  // nothing to protect
}

TEST(StringSearch, CasesAreMappedByCodePoint) {
  EXPECT_EQ(in_case(LetterCase::kUpper,
                    "stra\xC3\x9F"
                    "e \xC3\xA9z {|"),
            "STRA\xE1\xBA\x9E"
            "E \xC3\x89Z {|");
  EXPECT_EQ(in_case(LetterCase::kLower, "\xC3\x84 \xE1\xBA\x9E [@"), "\xC3\xA4 \xC3\x9F [@");
  EXPECT_EQ(in_case(LetterCase::kLower, "A\xFF\xC3"), "a\xFF\xC3");  // not UTF-8
}

}  // namespace
}  // namespace crossdock::expressions
