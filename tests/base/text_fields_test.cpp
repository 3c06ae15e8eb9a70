// Fields of strings, numbers and bytes in them.
#include "base/text_fields.hpp"

#include <cstdint>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock {
namespace {

TEST(TextFields, AreOneMoreThanMarks) {
  EXPECT_THAT(fields_of("a b", ' '), testing::ElementsAre("a", "b"));
  EXPECT_THAT(fields_of(" a  b ", ' '), testing::ElementsAre("", "a", "", "b", ""));
  EXPECT_THAT(fields_of("a b", '\n'), testing::ElementsAre("a b"));
  EXPECT_THAT(fields_of("", ' '), testing::ElementsAre(""));
}

TEST(TextFields, NumbersHaveNothingBesideThem) {
  int32_t number = 0;
  EXPECT_TRUE(read_number("-12", number));
  EXPECT_EQ(number, -12);
  uint64_t word = 0;
  EXPECT_TRUE(read_number("ffffffffffffffff", word, 16));
  EXPECT_EQ(word, ~uint64_t{0});
  for (const char* text : {"", " 1", "1 ", "1x", "x", "+1", "2147483648"}) {
    EXPECT_FALSE(read_number(text, number)) << text;
  }
  uint32_t unsigned_number = 0;
  EXPECT_FALSE(read_number("-1", unsigned_number));
}

TEST(TextFields, BytesComeBackFromHex) {
  const std::string bytes("\x00\x7f\x80\xff", 4);
  EXPECT_EQ(hex_of(std::as_bytes(std::span(bytes))), "007f80ff");
  EXPECT_EQ(from_hex("007f80FF"), bytes);
  EXPECT_EQ(from_hex(""), "");
  for (const char* text : {"0", "000", "0g", "g0", "-1", "0x"}) {
    EXPECT_EQ(from_hex(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace crossdock
