// Parts of days in lanes against the same of one day, over the whole range of both.
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "expressions/civil_date.hpp"
#include "expressions/lane_kernels.hpp"

namespace crossdock::expressions {
namespace {

using lanes::DatePart;

uint64_t part_of(DatePart part, int64_t day) {
  const CivilDate date = civil_date(day);
  const int64_t value = part == DatePart::kYear  ? date.year
                      : part == DatePart::kMonth ? date.month
                                                 : date.day;
  return static_cast<uint64_t>(value);
}

// Also in place, which is how days of instants are taken apart.
void expect_parts(const std::vector<uint64_t>& days) {
  const auto count = static_cast<int32_t>(days.size());
  for (const DatePart part : {DatePart::kYear, DatePart::kMonth, DatePart::kDay}) {
    std::vector<uint64_t> out(days.size());
    ASSERT_TRUE(lanes::date_parts(part, days.data(), count, out.data()));
    for (size_t i = 0; i < days.size(); ++i) {
      ASSERT_EQ(out[i], part_of(part, static_cast<int64_t>(days[i]))) << days[i];
    }
    std::vector<uint64_t> same = days;
    ASSERT_TRUE(lanes::date_parts(part, same.data(), count, same.data()));
    ASSERT_EQ(same, out);
  }
}

TEST(DateParts, AreThoseOfEachDay) {
  constexpr int64_t kFirst = -kDaysTo1970;
  constexpr auto kLast = static_cast<int64_t>(kShortDays) - kDaysTo1970 - 1;
  std::vector<uint64_t> days;
  for (int64_t day = kFirst; day < kFirst + 2 * 146'097; ++day) {
    days.push_back(static_cast<uint64_t>(day));
    days.push_back(static_cast<uint64_t>(kLast - (day - kFirst)));
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 500'000; ++i) {
    const auto ahead = static_cast<int64_t>(random() % kShortDays);
    days.push_back(static_cast<uint64_t>(kFirst + ahead));
  }
  expect_parts(days);
  for (size_t count = 0; count < 20; ++count)
    expect_parts({days.end() - 20, days.end() - 20 + count});
}

TEST(DateParts, OtherDaysAreRefusedWhereverTheyStand) {
  for (const int64_t beyond :
       {-kDaysTo1970 - 1, static_cast<int64_t>(kShortDays) - kDaysTo1970, INT64_MIN, INT64_MAX}) {
    for (size_t at = 0; at < 19; ++at) {
      std::vector<uint64_t> days(19, 0);
      days[at] = static_cast<uint64_t>(beyond);
      std::vector<uint64_t> out(days.size());
      EXPECT_FALSE(lanes::date_parts(DatePart::kYear, days.data(), 19, out.data())) << beyond;
    }
  }
}

}  // namespace
}  // namespace crossdock::expressions
