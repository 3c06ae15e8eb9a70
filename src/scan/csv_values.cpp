// Numbers, moments and strings, as pyarrow takes them from CSV.
#include "scan/csv_values.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "base/int128.hpp"
#include "base/integer_types.hpp"
#include "scan/page_values.hpp"
#include "scan/value_conversion.hpp"
#include "table/bitmap.hpp"

namespace crossdock::scan {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;
constexpr int32_t kDecimalDigitsMost = 38;

std::string_view trimmed(std::string_view value) {
  const auto is_space = [](char byte) { return byte == ' ' || byte == '\t'; };
  while (!value.empty() && is_space(value.front())) value.remove_prefix(1);
  while (!value.empty() && is_space(value.back())) value.remove_suffix(1);
  return value;
}

template <class T>
bool parse_all(std::string_view value, T& out) {
  const char* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, out);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

// A number in digits, with an exponent or without, or infinity or NaN; also with a plus sign. One that is too large or
// too small for the type is infinity or 0.
template <class T>
bool parse_real(std::string_view value, T& out) {
  if (value.size() > 1 && value[0] == '+' && value[1] != '-') value.remove_prefix(1);
  const char* end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, out);
  if (parsed.ptr != end || parsed.ec == std::errc::invalid_argument) return false;
  if (parsed.ec == std::errc::result_out_of_range) {  // which leaves `out` as it is
    const std::string text(value);
    if constexpr (std::is_same_v<T, float>) {
      out = std::strtof(text.c_str(), nullptr);
    } else {
      out = std::strtod(text.c_str(), nullptr);
    }
  }
  return true;
}

// Decimal digits, a sign in front; or bits behind 0x.
template <class T>
bool parse_integer(std::string_view value, T& out) {
  if (parse_all(value, out)) return true;
  constexpr size_t kPrefix = 2;
  if (value.size() <= kPrefix || value[0] != '0' || (value[1] | 0x20) != 'x') return false;
  const std::string_view digits = value.substr(kPrefix);
  std::make_unsigned_t<T> bits = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, bits, 16);
  out = static_cast<T>(bits);
  return digits.size() <= sizeof(T) * 2 && parsed.ec == std::errc() && parsed.ptr == end;
}

bool parse_bit(std::string_view value, uint8_t& out) {
  const bool is_true = value == "1" || value == "true" || value == "TRUE" || value == "True";
  const bool is_false = value == "0" || value == "false" || value == "FALSE" || value == "False";
  out = is_true ? 1 : 0;
  return is_true || is_false;
}

bool take_digits(std::string_view& value, size_t count, int& out) {
  if (value.size() < count) return false;
  out = 0;
  for (size_t i = 0; i < count; ++i) {
    const int digit = value[i] - '0';
    if (digit < 0 || digit > 9) return false;
    out = out * 10 + digit;
  }
  value.remove_prefix(count);
  return true;
}

bool take_sign(std::string_view& value, char sign) {
  if (value.empty() || value[0] != sign) return false;
  value.remove_prefix(1);
  return true;
}

// YYYY-MM-DD
bool take_date(std::string_view& value, int64_t& days) {
  int year = 0;
  int month = 0;
  int day = 0;
  const bool fits = take_digits(value, 4, year) && take_sign(value, '-') &&
                    take_digits(value, 2, month) && take_sign(value, '-') &&
                    take_digits(value, 2, day);
  if (!fits) return false;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return false;
  days = std::chrono::sys_days(date).time_since_epoch().count();
  return true;
}

// Digits of a second in units of which so many make one; finer ones do not fit.
bool take_fraction(std::string_view& value, int64_t units_per_second, int64_t& units) {
  int64_t unit = units_per_second;
  units = 0;
  if (value.empty()) return false;
  while (!value.empty()) {
    const int digit = value[0] - '0';
    if (digit < 0 || digit > 9 || unit == 1) return false;
    unit /= 10;
    units += digit * unit;
    value.remove_prefix(1);
  }
  return true;
}

// A date; behind it, T or a space, hours, minutes, seconds and parts of these, each where there is what is coarser.
bool parse_moment(std::string_view value, int64_t units_per_second, int64_t& out) {
  int64_t days = 0;
  if (!take_date(value, days)) return false;
  int64_t seconds = days * kSecondsPerDay;
  int64_t units = 0;
  if (!value.empty()) {
    int hour = 0;
    int minute = 0;
    int second = 0;
    if (!take_sign(value, 'T') && !take_sign(value, ' ')) return false;
    if (!take_digits(value, 2, hour)) return false;
    if (!value.empty() && !(take_sign(value, ':') && take_digits(value, 2, minute))) return false;
    if (!value.empty() && !(take_sign(value, ':') && take_digits(value, 2, second))) return false;
    if (hour > 23 || minute > 59 || second > 59) return false;
    seconds += (hour * 60 + minute) * 60 + second;
    if (!value.empty() &&
        !(take_sign(value, '.') && take_fraction(value, units_per_second, units))) {
      return false;
    }
  }
  return !__builtin_mul_overflow(seconds, units_per_second, &out) &&
         !__builtin_add_overflow(out, units, &out);
}

// Digits, with an exponent or without, of which at most `scale` count behind the point, or zeros.
bool parse_decimal(std::string_view value, const DataType& type, Int128& out) {
  const bool is_negative = take_sign(value, '-');
  if (!is_negative) take_sign(value, '+');
  int32_t places = type.scale;  // behind the point, before the exponent
  if (const size_t mark = value.find_first_of("eE"); mark != std::string_view::npos) {
    std::string_view digits = value.substr(mark + 1);
    const bool is_positive = take_sign(digits, '+');
    int16_t exponent = 0;
    if (!parse_all(digits, exponent) || (is_positive && exponent < 0)) return false;
    places += exponent;
    value = value.substr(0, mark);
  }
  Int128 number = 0;
  int32_t digits = 0;  // that count
  int32_t behind = -1;
  bool any = false;
  for (const char byte : value) {
    if (byte == '.' && behind < 0) {
      behind = 0;
      continue;
    }
    const int digit = byte - '0';
    if (digit < 0 || digit > 9) return false;
    any = true;
    if (behind >= std::max(places, 0)) {
      if (digit != 0) return false;
      continue;
    }
    number = number * 10 + digit;
    behind += behind >= 0 ? 1 : 0;
    digits += number != 0 ? 1 : 0;
    if (digits > kDecimalDigitsMost) return false;
  }
  for (int32_t place = std::max(behind, 0); number != 0 && place < places; ++place, ++digits) {
    if (digits >= type.precision) return false;
    number *= 10;
  }
  for (; number != 0 && places < 0; ++places, --digits) {
    if (number % 10 != 0) return false;
    number /= 10;
  }
  out = is_negative ? -number : number;
  return any && digits <= type.precision;
}

bool is_utf8(std::string_view value) {
  const auto* at = reinterpret_cast<const uint8_t*>(value.data());
  const uint8_t* const end = at + value.size();
  while (at < end) {
    const uint8_t lead = *at++;
    if (lead < 0x80) continue;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC2 ? 1 : -1;
    if (more < 0 || lead > 0xF4 || end - at < more) return false;
    const uint8_t least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const uint8_t most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (at[0] < least || at[0] > most) return false;
    for (int i = 1; i < more; ++i) {
      if ((at[i] & 0xC0) != 0x80) return false;
    }
    at += more;
  }
  return true;
}

StringView csv_view(std::string_view value, int32_t heap, size_t offset) {
  StringView view;
  view.bytes = static_cast<int32_t>(value.size());
  if (view.bytes <= kInlineStringBytes) {
    if (!value.empty()) std::memcpy(view.words, value.data(), value.size());
    return view;
  }
  std::memcpy(view.words, value.data(), sizeof(int32_t));
  view.words[1] = heap;
  view.words[2] = static_cast<int32_t>(offset);
  return view;
}

}  // namespace

Result<DataType> csv_type(const Field& expected) {
  const DataType& type = expected.type;
  switch (type.id) {
    case TypeId::kUtf8:
    case TypeId::kLargeUtf8:
    case TypeId::kUtf8View: {
      DataType views;
      views.id = TypeId::kUtf8View;
      views.arrow_format = "vu";
      return views;
    }
    case TypeId::kBool:
    case TypeId::kFloat32:
    case TypeId::kFloat64:
    case TypeId::kDecimal128:
    case TypeId::kDate32:
      return type;
    case TypeId::kTimestamp:
      if (type.timezone.empty()) return type;
      break;
    default:
      if (is_signed_integer(type.id) || is_unsigned_integer(type.id)) return type;
      break;
  }
  return make_error(ErrorCode::kUnsupportedType,
                    "column \"{}\" of type {} is not read from CSV here",
                    expected.name,
                    type_name(type));
}

NullStrings::NullStrings(const std::vector<std::string>& strings) {
  for (const std::string& one : strings) {
    if (by_length_.size() <= one.size()) by_length_.resize(one.size() + 1);
    by_length_[one.size()].push_back(one);
    if (!one.empty()) first_bytes_.set(static_cast<uint8_t>(one[0]));
    double number = 0;
    const bool is_number = parse_real(std::string_view(one), number);
    may_be_numbers_ = may_be_numbers_ || is_number || one == "true" || one == "false" ||
                      one.find('-') != std::string::npos;
  }
}

bool NullStrings::holds(std::string_view value) const {
  if (value.size() >= by_length_.size()) return false;
  const auto& strings = by_length_[value.size()];
  if (value.empty()) return !strings.empty();
  if (!first_bytes_[static_cast<uint8_t>(value[0])]) return false;
  return std::ranges::find(strings, value) != strings.end();
}

CsvColumn::CsvColumn(DataType type,
                     const NullStrings& nulls,
                     char quote,
                     std::shared_ptr<Memory> memory)
    : type_(std::move(type)), nulls_(nulls), quote_(quote), memory_(std::move(memory)) {}

Status CsvColumn::reserve(int64_t rows) {
  const int64_t width = std::max<int64_t>(fixed_bytes(type_), 1);
  const auto get = [&](Block& block, int64_t bytes) -> Status {
    if (block.bytes() >= bytes) return {};
    block.reset();
    CD_ASSIGN(block, memory_->get(bytes + bytes / 4, "columns of a CSV file"));
    return {};
  };
  constexpr int64_t kSlack = 64;
  CD_TRY(get(values_, rows * width + kSlack));
  CD_TRY(get(valid_, rows + kSlack));
  return get(bits_, 2 * (rows / 8 + kSlack));
}

// Calls read_value(row, value) for each that is not NULL, until it answers false.
template <class Read>
bool CsvColumn::read_all(const Cells& of, const Read& read_value) {
  uint8_t* valid = valid_.data();
  const auto* text = reinterpret_cast<const char*>(of.text.data());
  const bool tests_first = nulls_.may_be_numbers();
  for (int64_t row = 0; row < of.rows; ++row) {
    const CsvCell& cell = of.cells[row];
    const std::string_view value(text + cell.begin, cell.bytes());
    valid[row] = 1;
    if (tests_first && nulls_.holds(value)) {
      valid[row] = 0;
    } else if (!read_value(row, trimmed(value))) {
      if (tests_first || !nulls_.holds(value)) {
        bad_row_ = row;
        return false;
      }
      valid[row] = 0;
    }
    any_null_ |= valid[row] == 0;
  }
  return true;
}

template <class T>
bool CsvColumn::read_integers(const Cells& of) {
  T* out = values_.as<T>();
  return read_all(of, [=](int64_t row, std::string_view value) {
    out[row] = 0;
    return parse_integer(value, out[row]);
  });
}

template <class T>
bool CsvColumn::read_reals(const Cells& of) {
  T* out = values_.as<T>();
  return read_all(of, [=](int64_t row, std::string_view value) {
    out[row] = 0;
    return parse_real(value, out[row]);
  });
}

bool CsvColumn::read_bits(const Cells& of) {
  uint8_t* out = values_.data();
  return read_all(of,
                  [=](int64_t row, std::string_view value) { return parse_bit(value, out[row]); });
}

bool CsvColumn::read_decimals(const Cells& of) {
  auto* out = values_.as<Int128>();
  return read_all(of, [&](int64_t row, std::string_view value) {
    out[row] = 0;
    return parse_decimal(value, type_, out[row]);
  });
}

bool CsvColumn::read_moments(const Cells& of) {
  if (type_.id == TypeId::kDate32) {
    auto* days = values_.as<int32_t>();
    return read_all(of, [=](int64_t row, std::string_view value) {
      int64_t number = 0;
      const bool is_date = take_date(value, number) && value.empty();
      days[row] = static_cast<int32_t>(number);
      return is_date;
    });
  }
  auto* out = values_.as<int64_t>();
  const int64_t units = type_.units_per_second;
  return read_all(of, [=](int64_t row, std::string_view value) {
    out[row] = 0;
    return parse_moment(value, units, out[row]);
  });
}

// A copy with single quotes, in the place for such.
std::string_view CsvColumn::without_doubled(std::string_view value, size_t& at) {
  char* const begin = unquoted_.as<char>() + at;
  char* to = begin;
  for (size_t i = 0; i < value.size(); ++i) {
    *to++ = value[i];
    // The cell was cut at its quotes: what is doubled in it are these alone.
    if (i + 1 < value.size() && value[i] == value[i + 1] && value[i] == quote_) ++i;
  }
  at += static_cast<size_t>(to - begin);
  return {begin, static_cast<size_t>(to - begin)};
}

Result<bool> CsvColumn::read_strings(const Cells& of) {
  auto* views = values_.as<StringView>();
  uint8_t* valid = valid_.data();
  const auto* text = reinterpret_cast<const char*>(of.text.data());
  size_t unquoted = 0;
  for (int64_t row = 0; row < of.rows; ++row) {
    const CsvCell& cell = of.cells[row];
    std::string_view value(text + cell.begin, cell.bytes());
    int32_t heap = 0;
    size_t offset = cell.begin;
    if (cell.is_doubled()) {
      const auto room = static_cast<int64_t>(of.text.size());
      if (unquoted_.bytes() < room) {
        CD_ASSIGN(unquoted_, memory_->get(room, "strings of a CSV file"));
      }
      heap = 1;
      offset = unquoted;
      value = without_doubled(value, unquoted);
    }
    valid[row] = nulls_.holds(value) ? 0 : 1;
    any_null_ |= valid[row] == 0;
    if (!of.is_ascii && !is_utf8(value)) {
      bad_row_ = row;
      return false;
    }
    views[row] = csv_view(value, heap, offset);
  }
  heaps_[0] = of.text.data();
  heap_bytes_[0] = static_cast<int64_t>(of.text.size());
  heaps_[1] = unquoted_.data() == nullptr ? of.text.data() : unquoted_.data();
  heap_bytes_[1] = static_cast<int64_t>(unquoted);
  return true;
}

bool CsvColumn::read_values(const Cells& of) {
  switch (type_.id) {
    case TypeId::kBool:
      return read_bits(of);
    case TypeId::kFloat32:
      return read_reals<float>(of);
    case TypeId::kFloat64:
      return read_reals<double>(of);
    case TypeId::kDecimal128:
      return read_decimals(of);
    case TypeId::kDate32:
    case TypeId::kTimestamp:
      return read_moments(of);
    default:
      return with_integer(fixed_bytes(type_), is_unsigned_integer(type_.id), [&](auto zero) {
        return read_integers<decltype(zero)>(of);
      });
  }
}

ColumnView CsvColumn::view_of(int64_t rows) {
  ColumnView view;
  view.length = rows;
  view.values = values_.data();
  if (type_.id == TypeId::kBool) {
    uint8_t* bits = bits_.data() + bits_.bytes() / 2;
    pack_bits(values_.data(), rows, bits);
    view.values = bits;
  }
  if (any_null_) {
    pack_bits(valid_.data(), rows, bits_.data());
    view.validity = bits_.data();
    view.null_count = -1;
  }
  if (type_.id == TypeId::kUtf8View) {
    view.heaps = heaps_;
    view.heap_bytes = heap_bytes_;
    view.heap_count = 2;
  }
  return view;
}

Result<std::optional<ColumnView>> CsvColumn::read(const Cells& of) {
  CD_TRY(reserve(of.rows));
  any_null_ = false;
  if (of.cells == nullptr) {
    any_null_ = of.rows > 0;
    std::memset(valid_.data(), 0, static_cast<size_t>(of.rows));
    std::memset(
        values_.data(), 0, static_cast<size_t>(of.rows * std::max<int64_t>(fixed_bytes(type_), 1)));
    heaps_[0] = heaps_[1] = values_.data();
    heap_bytes_[0] = heap_bytes_[1] = 0;
    return std::optional<ColumnView>(view_of(of.rows));
  }
  bool good = false;
  if (type_.id == TypeId::kUtf8View) {
    CD_ASSIGN(good, read_strings(of));
  } else {
    good = read_values(of);
  }
  return good ? std::optional<ColumnView>(view_of(of.rows)) : std::nullopt;
}

}  // namespace crossdock::scan
