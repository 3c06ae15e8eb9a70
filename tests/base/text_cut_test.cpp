// Where strings are cut.
#include "base/text_cut.hpp"

#include <string>

#include <gtest/gtest.h>

namespace crossdock {
namespace {

TEST(TextCut, KeepsCharactersWhole) {
  EXPECT_EQ(first_characters("abc", 3), "abc");
  EXPECT_EQ(first_characters("abcd", 3), "abc");
  EXPECT_EQ(first_characters("aéé", 4), "aé");  // é has two bytes
  EXPECT_EQ(first_characters("aéé", 3), "aé");
  EXPECT_EQ(first_characters("aéé", 2), "a");
  EXPECT_EQ(first_characters("a€", 3), "a");  // three
  EXPECT_EQ(first_characters("a𝄞", 4), "a");  // and four
  EXPECT_EQ(first_characters("é", 1), "");
  EXPECT_EQ(first_characters("", 0), "");
}

TEST(TextCut, KeepsMostOfWhatIsNoUtf8) {
  const std::string bytes(100, '\x80');
  EXPECT_EQ(first_characters(bytes, 50).size(), 47U);
}

}  // namespace
}  // namespace crossdock
