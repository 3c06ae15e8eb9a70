// Formats that are no formats, strings that are no instants, and years that have other than four digits.
#include "expressions/time_format.hpp"

#include <gtest/gtest.h>

namespace crossdock::expressions {
namespace {

TimeFormat parsed(std::string_view format, FormatUse use) {
  auto result = TimeFormat::parse(format, use);
  EXPECT_TRUE(result.ok()) << format;
  return result.value();
}

std::string written(std::string_view format, int64_t days, int64_t nanoseconds) {
  const TimeFormat time_format = parsed(format, FormatUse::kWrite);
  std::string to(time_format.most_bytes(), '#');
  to.resize(time_format.write(days, nanoseconds, to.data()));
  return to;
}

std::optional<int64_t> read(std::string_view format, std::string_view string) {
  return parsed(format, FormatUse::kRead).read(string);
}

TEST(TimeFormat, WritesYearsOfAnyLength) {
  EXPECT_EQ(written("%Y-%m-%d", 0, 0), "1970-01-01");
  EXPECT_EQ(written("%Y-%m-%d", -719'528, 0), "0000-01-01");
  EXPECT_EQ(written("%Y-%m-%d", -719'529, 0), "-0001-12-31");
  EXPECT_EQ(written("%Y", 2'932'897, 0), "10000");
  EXPECT_EQ(written("%H:%M:%S.%n", 0, 86'399'999'999'999), "23:59:59.999999999");
  EXPECT_EQ(written("", 0, 0), "");
}

TEST(TimeFormat, RoomIsEnoughForTheLongestParts) {
  std::string format;
  for (int i = 0; i < 50; ++i) format += "%c%A%B%n%Y";
  const TimeFormat time_format = parsed(format, FormatUse::kWrite);
  std::string to(time_format.most_bytes(), '#');
  EXPECT_LE(time_format.write(INT32_MIN, 86'399'999'999'999, to.data()), to.size());
  EXPECT_LE(time_format.write(INT32_MAX, 86'399'999'999'999, to.data()), to.size());
}

TEST(TimeFormat, SpecifiersThatThereAreNot) {
  for (const char* format : {"%", "%Q", "%-", "%-Y", "a%", "%e", "%Y %"}) {
    EXPECT_FALSE(TimeFormat::parse(format, FormatUse::kWrite).ok()) << format;
  }
  for (const char* format : {"%U", "%V", "%z", "%Z", "%u"}) {
    EXPECT_TRUE(TimeFormat::parse(format, FormatUse::kWrite).ok()) << format;
    EXPECT_FALSE(TimeFormat::parse(format, FormatUse::kRead).ok()) << format;
  }
}

TEST(TimeFormat, ReadsWhatIsAnInstant) {
  EXPECT_EQ(read("%Y-%m-%d", "1970-01-02"), 86'400'000'000);
  EXPECT_EQ(read("%Y-%m-%d %H:%M:%S.%f", " 1969-12-31 23:59:59.5\n"), -500'000);
  EXPECT_EQ(read("%j %Y", "366 2024"), read("%d %b %Y", "31 dec 2024"));
  EXPECT_EQ(read("%I %p", "12 am"), read("%H", "0"));
  EXPECT_EQ(read("", ""), read("%Y-%m-%d", "1900-01-01"));
}

TEST(TimeFormat, ReadsNothingElse) {
  for (const char* string : {"",
                             "2023-02-29",
                             "2024-1",
                             "2024-1-1x",
                             "-2024-01-01",
                             "2024--1-01",
                             "2024-+1-01",
                             "2024-01-99",
                             "20240101",
                             "\xff"}) {
    EXPECT_FALSE(read("%Y-%m-%d", string).has_value()) << string;
  }
  EXPECT_FALSE(read("%j %Y", "366 2023").has_value());
  EXPECT_FALSE(read("%j %Y", "0 2023").has_value());
  EXPECT_FALSE(read("%I", "13").has_value());
  EXPECT_FALSE(read("%H:%M", "24:00").has_value());
  EXPECT_FALSE(read("%p", "p").has_value());
  EXPECT_FALSE(read("%b", "Ja").has_value());
  EXPECT_FALSE(read("%S.%f", "1.").has_value());
  EXPECT_FALSE(read("%I:%M %p", "1:00PM").has_value());
}

}  // namespace
}  // namespace crossdock::expressions
