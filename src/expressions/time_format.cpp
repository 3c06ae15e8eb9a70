#include "expressions/time_format.hpp"

#include <algorithm>
#include <charconv>

#include "expressions/civil_date.hpp"
#include "expressions/number_text.hpp"

namespace crossdock::expressions {
namespace {

constexpr std::string_view kMonths[] = {"January",
                                        "February",
                                        "March",
                                        "April",
                                        "May",
                                        "June",
                                        "July",
                                        "August",
                                        "September",
                                        "October",
                                        "November",
                                        "December"};
constexpr std::string_view kDays[] = {
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
constexpr std::string_view kWritten = "YymdHIMSfgnpjaAbBwuUWVGzZ%";
constexpr std::string_view kRead = "YymdHIMSfgnpjaAbB%";
constexpr std::string_view kUnpadded = "ymdHIMSj";
constexpr int64_t kShortName = 3;
constexpr int64_t kNanoseconds = 1'000'000'000;

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
}

char* put_number(int64_t value, int64_t digits, char* to) {
  if (value < 0) {
    *to++ = '-';
    value = -value;
  }
  return write_padded(value, digits, to);
}

// What an instant has, for all specifiers.
struct Parts {
  CivilDate date;
  int64_t days;
  int64_t nanoseconds;  // of the day
  int64_t seconds;      // of the day
  int64_t weekday;      // Monday = 0
};

Parts parts_of(int64_t days, int64_t nanoseconds) {
  const CivilDate date = civil_date(days);
  return {date, days, nanoseconds, nanoseconds / kNanoseconds, weekday_of(days)};
}

int64_t day_of_year(const Parts& parts) {  // from 0
  return parts.days - days_since_1970({parts.date.year, 1, 1});
}

struct IsoWeek {
  int64_t year;
  int64_t week;
};

IsoWeek iso_week(const Parts& parts) {
  const int64_t thursday = parts.days - parts.weekday + 3;
  const int64_t year = civil_date(thursday).year;
  return {year, (thursday - days_since_1970({year, 1, 1})) / 7 + 1};
}

int64_t hour_of_twelve(int64_t hour) { return hour % 12 == 0 ? 12 : hour % 12; }

char* put_name_or_zone(char specifier, const Parts& parts, char* to) {
  const std::string_view month = kMonths[parts.date.month - 1];
  const std::string_view day = kDays[parts.weekday];
  switch (specifier) {
    case 'a':
      return put(day.substr(0, kShortName), to);
    case 'A':
      return put(day, to);
    case 'b':
      return put(month.substr(0, kShortName), to);
    case 'B':
      return put(month, to);
    case 'p':
      return put(parts.seconds < 12 * 3600 ? "AM" : "PM", to);
    case 'z':
      return put("+00", to);
    case '%':
      return put("%", to);
    default:  // Z: instants without zone have none
      return to;
  }
}

char* put_part(char specifier, bool is_padded, const Parts& parts, char* to) {
  const int64_t two = is_padded ? 2 : 1;
  switch (specifier) {
    case 'Y':
      return put_number(parts.date.year, 4, to);
    case 'y':
      return put_number(std::abs(parts.date.year) % 100, two, to);
    case 'm':
      return put_number(parts.date.month, two, to);
    case 'd':
      return put_number(parts.date.day, two, to);
    case 'H':
      return put_number(parts.seconds / 3600, two, to);
    case 'I':
      return put_number(hour_of_twelve(parts.seconds / 3600), two, to);
    case 'M':
      return put_number(parts.seconds / 60 % 60, two, to);
    case 'S':
      return put_number(parts.seconds % 60, two, to);
    case 'f':
      return put_number(parts.nanoseconds % kNanoseconds / 1000, 6, to);
    case 'g':
      return put_number(parts.nanoseconds % kNanoseconds / 1'000'000, 3, to);
    case 'n':
      return put_number(parts.nanoseconds % kNanoseconds, 9, to);
    case 'j':
      return put_number(day_of_year(parts) + 1, is_padded ? 3 : 1, to);
    case 'w':
      return put_number((parts.weekday + 1) % 7, 1, to);
    case 'u':
      return put_number(parts.weekday + 1, 1, to);
    case 'U':  // weeks that begin on Sunday
      return put_number((day_of_year(parts) + 7 - (parts.weekday + 1) % 7) / 7, 2, to);
    case 'W':  // on Monday
      return put_number((day_of_year(parts) + 7 - parts.weekday) / 7, 2, to);
    case 'V':
      return put_number(iso_week(parts).week, 2, to);
    case 'G':
      return put_number(iso_week(parts).year, 4, to);
    default:
      return put_name_or_zone(specifier, parts, to);
  }
}

// Reads one string from left to right.
class InstantReader {
 public:
  explicit InstantReader(std::string_view rest) : rest_(rest) {}

  void pass_spaces() {
    while (!rest_.empty() && is_space(rest_[0])) rest_.remove_prefix(1);
  }

  // Spaces of the format stand for one and more.
  bool pass(std::string_view piece) {
    bool behind_space = false;
    for (const char letter : piece) {
      if (is_space(letter)) {
        if (rest_.empty() || !(is_space(rest_[0]) || behind_space)) return false;
        pass_spaces();
      } else if (rest_.empty() || rest_[0] != letter) {
        return false;
      } else {
        rest_.remove_prefix(1);
      }
      behind_space = is_space(letter);
    }
    return true;
  }

  bool read(char specifier);
  bool is_at_end() const { return rest_.empty(); }
  std::optional<int64_t> microseconds() const;

 private:
  bool read_number(size_t most_digits, int64_t* to);
  bool read_fraction(size_t most_digits);
  bool read_noon();
  template <size_t count>
  bool read_name(const std::string_view (&names)[count], bool is_short, int64_t* to);

  std::string_view rest_;
  int64_t year_ = 1900;
  int64_t month_ = 1;
  int64_t day_ = 1;
  int64_t day_of_year_ = 0;  // 0: not given
  int64_t hour_ = 0;
  bool in_twelve_ = false;
  std::optional<bool> is_afternoon_;
  int64_t minute_ = 0;
  int64_t second_ = 0;
  int64_t nanosecond_ = 0;
};

bool InstantReader::read_number(size_t most_digits, int64_t* to) {
  const std::string_view digits = rest_.substr(0, most_digits);
  const std::from_chars_result parsed =
      std::from_chars(digits.data(), digits.data() + digits.size(), *to);
  if (parsed.ec != std::errc() || rest_[0] == '-') return false;
  rest_.remove_prefix(static_cast<size_t>(parsed.ptr - digits.data()));
  return true;
}

// Digits behind the point, of which there may be fewer.
bool InstantReader::read_fraction(size_t most_digits) {
  const size_t before = rest_.size();
  if (!read_number(most_digits, &nanosecond_)) return false;
  for (size_t digits = before - rest_.size(); digits < 9; ++digits) nanosecond_ *= 10;
  return true;
}

bool InstantReader::read_noon() {
  if (rest_.size() < 2 || lower(rest_[1]) != 'm') return false;
  const char half = lower(rest_[0]);
  if (half != 'a' && half != 'p') return false;
  is_afternoon_ = half == 'p';
  rest_.remove_prefix(2);
  return true;
}

template <size_t count>
bool InstantReader::read_name(const std::string_view (&names)[count], bool is_short, int64_t* to) {
  for (size_t i = 0; i < count; ++i) {
    const std::string_view name = is_short ? names[i].substr(0, kShortName) : names[i];
    const std::string_view letters = rest_.substr(0, name.size());
    const bool same =
        std::equal(name.begin(), name.end(), letters.begin(), letters.end(), [](char a, char b) {
          return lower(a) == lower(b);
        });
    if (!same) continue;
    rest_.remove_prefix(name.size());
    *to = static_cast<int64_t>(i) + 1;
    return true;
  }
  return false;
}

bool InstantReader::read(char specifier) {
  int64_t day_of_week = 0;  // says nothing new
  switch (specifier) {
    case 'Y':
      return read_number(4, &year_);
    case 'y':
      if (!read_number(2, &year_)) return false;
      year_ += year_ < 69 ? 2000 : 1900;
      return true;
    case 'm':
      return read_number(2, &month_);
    case 'd':
      return read_number(2, &day_);
    case 'j':
      return read_number(3, &day_of_year_) && day_of_year_ > 0;
    case 'H':
      return read_number(2, &hour_);
    case 'I':
      in_twelve_ = true;
      return read_number(2, &hour_) && hour_ >= 1 && hour_ <= 12;
    case 'M':
      return read_number(2, &minute_);
    case 'S':
      return read_number(2, &second_);
    case 'f':
      return read_fraction(6);
    case 'n':
      return read_fraction(9);
    case 'g':
      return read_fraction(3);
    case 'p':
      return read_noon();
    case 'a':
    case 'A':
      return read_name(kDays, specifier == 'a', &day_of_week);
    case 'b':
    case 'B':
      return read_name(kMonths, specifier == 'b', &month_);
    default:
      return pass("%");
  }
}

std::optional<int64_t> InstantReader::microseconds() const {
  int64_t hour = hour_;
  if (in_twelve_ && hour == 12) hour = 0;
  if (is_afternoon_ && *is_afternoon_ && hour < 12) hour += 12;
  if (hour > 23 || minute_ > 59 || second_ > 59) return std::nullopt;
  int64_t days = 0;
  if (day_of_year_ > 0) {
    days = days_since_1970({year_, 1, 1}) + day_of_year_ - 1;
    if (civil_date(days).year != year_) return std::nullopt;
  } else {
    if (month_ < 1 || month_ > 12 || day_ < 1 || day_ > days_in_month(year_, month_)) {
      return std::nullopt;
    }
    days = days_since_1970({year_, month_, day_});
  }
  const int64_t seconds = days * 86'400 + hour * 3600 + minute_ * 60 + second_;
  return seconds * 1'000'000 + nanosecond_ / 1000;
}

}  // namespace

Result<TimeFormat> TimeFormat::parse(std::string_view format, FormatUse use) {
  TimeFormat parsed;
  CD_TRY(parsed.add(format, use));
  return parsed;
}

Status TimeFormat::add(std::string_view format, FormatUse use) {
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      if (pieces_.empty() || pieces_.back().specifier != 0) pieces_.emplace_back();
      pieces_.back().text += format[i];
      continue;
    }
    const bool is_padded = i + 1 >= format.size() || format[i + 1] != '-';
    i += is_padded ? 1 : 2;
    const char specifier = i < format.size() ? format[i] : '\0';
    if (is_padded && specifier == 'c') {
      CD_TRY(add("%Y-%m-%d %H:%M:%S", use));
    } else if (is_padded && specifier == 'x') {
      CD_TRY(add("%Y-%m-%d", use));
    } else if (is_padded && specifier == 'X') {
      CD_TRY(add("%H:%M:%S", use));
    } else {
      const std::string_view known = !is_padded               ? kUnpadded
                                   : use == FormatUse::kWrite ? kWritten
                                                              : kRead;
      if (specifier == '\0' || known.find(specifier) == std::string_view::npos) {
        return make_error(ErrorCode::kInvalidArgument,
                          "the format '{}' has {}%{}{}, which dates are not {}\n  limits   {}",
                          format,
                          specifier == '\0' ? "a lone " : "",
                          is_padded ? "" : "-",
                          specifier == '\0' ? std::string() : std::string(1, specifier),
                          use == FormatUse::kWrite ? "written by" : "read by",
                          "% and one of " + std::string(known) + "cxX");
      }
      pieces_.push_back({specifier, is_padded, {}});
    }
  }
  return {};
}

size_t TimeFormat::most_bytes() const {
  constexpr size_t kMostOfPart = 24;
  size_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += std::max(piece.text.size(), kMostOfPart);
  return bytes;
}

bool TimeFormat::is_name() const {
  return pieces_.size() == 1 && pieces_[0].specifier != 0 &&
         std::string_view("aAbB").find(pieces_[0].specifier) != std::string_view::npos;
}

std::string_view TimeFormat::name(int64_t days) const {
  const char specifier = pieces_[0].specifier;
  const bool is_of_day = specifier == 'a' || specifier == 'A';
  const std::string_view name =
      is_of_day ? kDays[weekday_of(days)] : kMonths[civil_date(days).month - 1];
  return specifier == 'a' || specifier == 'b' ? name.substr(0, kShortName) : name;
}

size_t TimeFormat::write(int64_t days, int64_t nanoseconds, char* to) const {
  const Parts parts = parts_of(days, nanoseconds);
  char* at = to;
  for (const Piece& piece : pieces_) {
    at = piece.specifier == 0 ? put(piece.text, at)
                              : put_part(piece.specifier, piece.is_padded, parts, at);
  }
  return static_cast<size_t>(at - to);
}

std::optional<int64_t> TimeFormat::read(std::string_view string) const {
  InstantReader reader(string);
  reader.pass_spaces();
  for (const Piece& piece : pieces_) {
    if (!(piece.specifier == 0 ? reader.pass(piece.text) : reader.read(piece.specifier))) {
      return std::nullopt;
    }
  }
  reader.pass_spaces();
  return reader.is_at_end() ? reader.microseconds() : std::nullopt;
}

}  // namespace crossdock::expressions
