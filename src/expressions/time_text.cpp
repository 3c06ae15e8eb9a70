#include "expressions/time_text.hpp"

#include <algorithm>

#include "base/int128.hpp"
#include "expressions/civil_date.hpp"
#include "expressions/number_text.hpp"

namespace crossdock::expressions {
namespace {

constexpr int64_t kSecondsOfDay = 86'400;
constexpr int64_t kSecondNanoseconds = 1'000'000'000;
constexpr int64_t kMostDateYear = 5'000'000;  // a date32 ends before

bool pass_letter(std::string_view* rest, char letter) {
  if (!rest->starts_with(letter)) return false;
  rest->remove_prefix(1);
  return true;
}

// A number of 1 to `most_digits` digits.
bool read_time_number(std::string_view* rest, size_t most_digits, int64_t* to) {
  size_t count = 0;
  int64_t value = 0;
  for (; count < std::min(rest->size(), most_digits) && is_digit((*rest)[count]); ++count) {
    value = value * 10 + ((*rest)[count] - '0');
  }
  rest->remove_prefix(count);
  *to = value;
  return count > 0;
}

// A number below 100.
char* write_two(int64_t value, char* to) {
  *to++ = static_cast<char>('0' + value / 10);
  *to++ = static_cast<char>('0' + value % 10);
  return to;
}

std::optional<int64_t> pass_date(std::string_view* rest) {
  constexpr size_t kYearDigits = 7;
  CivilDate date{};
  const bool is_before = pass_letter(rest, '-');
  if (!read_time_number(rest, kYearDigits, &date.year) || rest->empty()) return std::nullopt;
  if (is_before) date.year = -date.year;
  const char between = rest->front();
  if (between != '-' && between != '/' && between != ' ') return std::nullopt;
  const bool is_read = pass_letter(rest, between) && read_time_number(rest, 2, &date.month) &&
                       pass_letter(rest, between) && read_time_number(rest, 2, &date.day);
  if (!is_read || date.month < 1 || date.month > 12 || date.day < 1) return std::nullopt;
  if (date.year < -kMostDateYear || date.year > kMostDateYear) return std::nullopt;
  if (date.day > days_in_month(date.year, date.month)) return std::nullopt;
  return days_since_1970(date);
}

// Nanoseconds of the digits behind a second; those behind the ninth are cut.
int64_t pass_fraction(std::string_view* rest) {
  int64_t nanoseconds = 0;
  int64_t unit = kSecondNanoseconds / 10;
  for (; !rest->empty() && is_digit(rest->front()); rest->remove_prefix(1), unit /= 10) {
    nanoseconds += unit * (rest->front() - '0');
  }
  return nanoseconds;
}

// What stands behind a date, but for white space at its ends: nothing, or a time of the day in nanoseconds.
std::optional<int64_t> read_time(std::string_view rest) {
  if (rest.empty()) return 0;
  if (!pass_letter(&rest, 'T')) {
    if (!rest.starts_with(' ')) return std::nullopt;
    rest = without_spaces(rest);
  }
  int64_t hour = 0;
  int64_t minute = 0;
  int64_t second = 0;
  int64_t nanosecond = 0;
  if (!read_time_number(&rest, 2, &hour) || !pass_letter(&rest, ':') ||
      !read_time_number(&rest, 2, &minute)) {
    return std::nullopt;
  }
  if (pass_letter(&rest, ':')) {
    if (!read_time_number(&rest, 2, &second)) return std::nullopt;
    if (pass_letter(&rest, '.')) nanosecond = pass_fraction(&rest);
  }
  const std::string_view zone = without_spaces(rest);
  const bool is_end_of_day = hour == 24 && minute == 0 && second == 0 && nanosecond == 0;
  const bool is_known_zone = zone.empty() || zone == "Z" || zone == "UTC";
  if (!is_known_zone || (hour > 23 && !is_end_of_day) || minute > 59 || second > 59) {
    return std::nullopt;
  }
  return (hour * 3600 + minute * 60 + second) * kSecondNanoseconds + nanosecond;
}

}  // namespace

size_t write_date(int64_t days, char* to) {
  const CivilDate date = civil_date(days);
  char* at = to;
  if (date.year < 0) *at++ = '-';
  const int64_t year = date.year < 0 ? -date.year : date.year;
  at = year < 10'000 ? write_two(year % 100, write_two(year / 100, at)) : write_padded(year, 4, at);
  *at++ = '-';
  at = write_two(date.month, at);
  *at++ = '-';
  return static_cast<size_t>(write_two(date.day, at) - to);
}

size_t write_instant(int64_t ticks, int64_t ticks_per_second, char* to) {
  const int64_t seconds = floor_divide(ticks, ticks_per_second);
  const int64_t days = floor_divide(seconds, kSecondsOfDay);
  const int64_t second = seconds - days * kSecondsOfDay;
  char* at = to + write_date(days, to);
  *at++ = ' ';
  at = write_two(second / 3600, at);
  *at++ = ':';
  at = write_two(second / 60 % 60, at);
  *at++ = ':';
  at = write_two(second % 60, at);
  const int64_t rest = ticks % ticks_per_second;
  const int64_t behind = rest < 0 ? rest + ticks_per_second : rest;
  if (behind == 0) return static_cast<size_t>(at - to);
  *at++ = '.';
  at = write_padded(behind * (kSecondNanoseconds / ticks_per_second), 9, at);
  while (at[-1] == '0') --at;
  return static_cast<size_t>(at - to);
}

std::optional<int64_t> read_date(std::string_view date) {
  std::string_view rest = without_spaces(date);
  const std::optional<int64_t> days = pass_date(&rest);
  return days && read_time(rest) ? days : std::nullopt;
}

std::optional<int64_t> read_instant(std::string_view instant, int64_t ticks_per_second) {
  std::string_view rest = without_spaces(instant);
  const std::optional<int64_t> days = pass_date(&rest);
  const std::optional<int64_t> time = days ? read_time(rest) : std::nullopt;
  if (!time) return std::nullopt;
  const Int128 ticks = Int128{*days} * kSecondsOfDay * ticks_per_second +
                     *time / (kSecondNanoseconds / ticks_per_second);
  if (ticks != static_cast<int64_t>(ticks)) return std::nullopt;
  return static_cast<int64_t>(ticks);
}

}  // namespace crossdock::expressions
