// Numbers, dates and instants as strings, and strings in the forms that people write: those of other lengths, beyond
// the range of a type, and those that are none.
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "expressions/number_text.hpp"
#include "expressions/powers.hpp"
#include "expressions/time_text.hpp"

namespace crossdock::expressions {
namespace {

template <class Write>
std::string text_of(const Write& write) {
  std::string to(kMostNumberBytes, '#');
  to.resize(write(to.data()));
  return to;
}

std::string real_text(double value) {
  return text_of([=](char* to) { return write_real(value, to); });
}
std::string float_text(float value) {
  return text_of([=](char* to) { return write_real(value, to); });
}
std::string decimal_text(Int128 value, int32_t scale) {
  return text_of([=](char* to) { return write_decimal(value, scale, to); });
}
std::string instant_text(int64_t ticks, int64_t per_second) {
  return text_of([=](char* to) { return write_instant(ticks, per_second, to); });
}

TEST(ValueText, RealsHaveExponentsOutsideOfPlainNumbers) {
  EXPECT_EQ(real_text(0.0), "0.0");
  EXPECT_EQ(real_text(-0.0), "-0.0");
  EXPECT_EQ(real_text(1e10), "10000000000.0");
  EXPECT_EQ(real_text(999999999999999.9), "999999999999999.9");
  EXPECT_EQ(real_text(9007199254740993.0), "9007199254740992.0");
  EXPECT_EQ(real_text(1e16), "1e+16");
  EXPECT_EQ(real_text(1.5e-5), "1.5e-05");
  EXPECT_EQ(real_text(0.0001), "0.0001");
  EXPECT_EQ(real_text(-123.456), "-123.456");
  EXPECT_EQ(real_text(5e-324), "5e-324");
  EXPECT_EQ(real_text(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(real_text(std::nan("")), "nan");
  EXPECT_EQ(real_text(-std::nan("")), "nan");
  EXPECT_EQ(float_text(0.1F), "0.1");
  EXPECT_EQ(float_text(9007199254740992.0F), "9007199000000000.0");
}

TEST(ValueText, RealsAreReadAsTheyWereWritten) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = __builtin_bit_cast(double, random());
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(read_double(real_text(value)), value);
    const auto single = __builtin_bit_cast(float, static_cast<uint32_t>(random()));
    if (std::isfinite(single)) {
      EXPECT_EQ(read_float(float_text(single)), single);
    }
  }
}

TEST(ValueText, DecimalsOfBothWords) {
  EXPECT_EQ(decimal_text(0, 2), "0.00");
  EXPECT_EQ(decimal_text(-5, 2), "-0.05");
  EXPECT_EQ(decimal_text(123, 0), "123");
  EXPECT_EQ(decimal_text(1, 38), "0.00000000000000000000000000000000000001");
  EXPECT_EQ(decimal_text(power_of_ten(38) - 1, 10), "9999999999999999999999999999.9999999999");
  EXPECT_EQ(decimal_text(power_of_ten(19), 0), "10000000000000000000");
  std::mt19937_64 random(8);
  for (int i = 0; i < 20'000; ++i) {
    const auto high = static_cast<int64_t>(random()) >> (random() % 64);
    const Int128 value = (Int128{high} << (random() % 60)) ^ static_cast<int64_t>(random() >> 1);
    const auto scale = static_cast<int32_t>(random() % 39);
    EXPECT_EQ(read_decimal(decimal_text(value, scale), scale), value);
  }
}

TEST(ValueText, NumbersAsPeopleWriteThem) {
  EXPECT_EQ(read_integer(" 12\n"), Int128{12});
  EXPECT_EQ(read_integer("+1_000"), Int128{1000});
  EXPECT_EQ(read_integer("2.5"), Int128{3});
  EXPECT_EQ(read_integer("-2.5e0"), Int128{-3});
  EXPECT_EQ(read_integer("5e-1"), Int128{1});
  EXPECT_EQ(read_integer("4.9e-1"), Int128{0});
  EXPECT_EQ(read_integer("1e-99999999999999999999"), Int128{0});
  EXPECT_EQ(read_integer("0e99999999999999999999"), Int128{0});
  EXPECT_EQ(read_integer("0xFf"), Int128{255});
  EXPECT_EQ(read_integer("0b101"), Int128{5});
  EXPECT_EQ(read_integer("18446744073709551616"), Int128{1} << 64);
  for (const char* wrong : {"",
                            " ",
                            ".",
                            "-",
                            "+-5",
                            "1 2",
                            "1__0",
                            "_1",
                            "1_",
                            "1e",
                            "-0x1",
                            "0x",
                            "1e39",
                            "nan",
                            "99999999999999999999999999999999999999999"}) {
    EXPECT_EQ(read_integer(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(read_decimal("0.0049999999999999999999999999999999999999999", 2), Int128{0});
  EXPECT_EQ(read_decimal("0.005", 2), Int128{1});
  EXPECT_EQ(read_decimal("-.5", 0), Int128{-1});
  EXPECT_EQ(read_decimal("99999999999999999999999999999999999999.5", 0), power_of_ten(38));
}

TEST(ValueText, RealsAsPeopleWriteThem) {
  EXPECT_EQ(read_double(" +1.5 "), 1.5);
  EXPECT_EQ(read_double("1_000.5"), 1000.5);
  EXPECT_EQ(read_double("1e400"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(read_double("-1e400"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read_double("1e-400"), 0.0);
  EXPECT_EQ(read_float("1e39"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(read_double("-Infinity"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(read_double("NaN").value()));
  for (const char* wrong : {"", "0x1p3", "1d", "e5", "1e", "1.5.5", "+-1", "1__0", "_1", "in"}) {
    EXPECT_EQ(read_double(wrong), std::nullopt) << wrong;
  }
}

TEST(ValueText, DatesAndInstantsAsPeopleWriteThem) {
  EXPECT_EQ(read_date("1970-1-2"), 1);
  EXPECT_EQ(read_date(" 1970/01/02 "), 1);
  EXPECT_EQ(read_date("1970-01-02 10:00"), 1);
  EXPECT_EQ(read_date("-0001-12-31"), -719'529);
  EXPECT_EQ(read_date("2024-02-29").has_value(), true);
  for (const char* wrong : {"2023-02-29",
                            "2024-13-01",
                            "2024-00-01",
                            "2024-01-00",
                            "2024-01/05",
                            "20240105",
                            "2024-01",
                            "2024-01-05 10",
                            "2024-01-05x",
                            "",
                            "9999999-01-01"}) {
    EXPECT_EQ(read_date(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(read_instant("1970-01-01T00:00:01.5Z", 1000), 1500);
  EXPECT_EQ(read_instant("1970-01-01  1:2", 1), 3720);
  EXPECT_EQ(read_instant("1970-01-01 00:00:00.1234567899", 1'000'000'000), 123'456'789);
  EXPECT_EQ(read_instant("1970-01-01 00:00:00.9999999", 1'000'000), 999'999);
  EXPECT_EQ(read_instant("1969-12-31 23:59:59.5 UTC", 1000), -500);
  EXPECT_EQ(read_instant("1970-01-01 24:00:00", 1), 86'400);
  for (const char* wrong : {"1970-01-01 24:00:01",
                            "1970-01-01 23:60",
                            "1970-01-01 23:59:60",
                            "1970-01-01Z",
                            "1970-01-01 10:00+02",
                            "300000-01-01"}) {
    EXPECT_EQ(read_instant(wrong, 1'000'000'000), std::nullopt) << wrong;
  }
  EXPECT_EQ(instant_text(-1, 1'000'000'000), "1969-12-31 23:59:59.999999999");
  EXPECT_EQ(instant_text(INT64_MIN, 1'000'000), "-290308-12-21 19:59:05.224192");
  EXPECT_EQ(instant_text(1'500, 1000), "1970-01-01 00:00:01.5");
}

}  // namespace
}  // namespace crossdock::expressions
