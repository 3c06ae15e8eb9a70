// Dates of the proleptic Gregorian calendar as days since 1970 and back, by Howard Hinnant's algorithms
// (chrono-Compatible Low-Level Date Algorithms): years begin in March, so that the leap day ends them.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>

namespace crossdock::expressions {

struct CivilDate {
  int64_t year;
  int64_t month;
  int64_t day;
};

constexpr int64_t floor_divide(int64_t a, int64_t b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

constexpr CivilDate civil_date(int64_t days_since_1970) {
  const int64_t days = days_since_1970 + 719'468;
  const int64_t era = floor_divide(days, 146'097);
  const int64_t day_of_era = days - era * 146'097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t march_month = (5 * day_of_year + 2) / 153;
  const int64_t month = march_month + (march_month < 10 ? 3 : -9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0),
          month,
          day_of_year - (153 * march_month + 2) / 5 + 1};
}

// The same for days since 1 March of the year 0, below kShortDays, in 32 bits.
struct ShortDate {
  uint32_t year;
  uint32_t month;
  uint32_t day;
};
constexpr int64_t kDaysTo1970 = 719'468;
constexpr uint64_t kShortDays = uint64_t{1} << 29;

constexpr ShortDate short_date(uint32_t days) {
  const uint32_t era = days / 146'097;
  const uint32_t day_of_era = days - era * 146'097;
  const uint32_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const uint32_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const uint32_t march_month = (5 * day_of_year + 2) / 153;
  const uint32_t month = march_month < 10 ? march_month + 3 : march_month - 9;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0),
          month,
          day_of_year - (153 * march_month + 2) / 5 + 1};
}

constexpr int64_t days_since_1970(const CivilDate& date) {
  const int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const int64_t era = floor_divide(year, 400);
  const int64_t year_of_era = year - era * 400;
  const int64_t march_month = date.month + (date.month > 2 ? -3 : 9);
  const int64_t day_of_year = (153 * march_month + 2) / 5 + date.day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

constexpr int64_t days_in_month(int64_t year, int64_t month) {
  constexpr int64_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return kDays[month - 1] + (month == 2 && leaps ? 1 : 0);
}

// Calls `call` with how many ticks make a second, as a constant, by which a division is a multiplication; 0: days are
// counted.
template <class Call>
void with_ticks_per_second(int64_t per_second, const Call& call) {
  switch (per_second) {
    case 0:
      return call(std::integral_constant<int64_t, 0>());
    case 1:
      return call(std::integral_constant<int64_t, 1>());
    case 1000:
      return call(std::integral_constant<int64_t, 1000>());
    case 1'000'000:
      return call(std::integral_constant<int64_t, 1'000'000>());
    default:
      return call(std::integral_constant<int64_t, 1'000'000'000>());
  }
}

enum class Period : uint8_t {
  kMillennium,
  kCentury,
  kDecade,
  kYear,
  kQuarter,
  kMonth,
  kWeek,
  kDay,
  kHour,
  kMinute,
  kSecond,
  kMillisecond,
  kMicrosecond,
};

// How many years one has that is of years: decades begin with a 0, in all systems but those of law.
constexpr int64_t years_in(Period period) {
  switch (period) {
    case Period::kMillennium:
      return 1000;
    case Period::kCentury:
      return 100;
    case Period::kDecade:
      return 10;
    default:
      return 1;
  }
}

constexpr std::optional<Period> find_period(std::string_view name) {
  constexpr std::string_view kNames[] = {"millennium",
                                         "century",
                                         "decade",
                                         "year",
                                         "quarter",
                                         "month",
                                         "week",
                                         "day",
                                         "hour",
                                         "minute",
                                         "second",
                                         "millisecond",
                                         "microsecond"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Period>(i);
  }
  return std::nullopt;
}

// Monday = 0. 1970 began on a Thursday.
constexpr int64_t weekday_of(int64_t days_since_1970) {
  return days_since_1970 + 3 - 7 * floor_divide(days_since_1970 + 3, 7);
}

}  // namespace crossdock::expressions
