#include "expressions/number_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "expressions/powers.hpp"

namespace crossdock::expressions {
namespace {

constexpr int32_t kWordDigits = 18;  // of which all numbers fit a word
constexpr int64_t kMostExponent = 1'000'000;

template <class Real>
size_t write_shortest(Real value, char* to) {
  constexpr int64_t kLeastPlain = -4;  // exponents of numbers without one
  constexpr int64_t kMostPlain = 15;
  char* const begin = to;
  if (std::isnan(value)) return static_cast<size_t>(put("nan", to) - begin);
  if (std::signbit(value)) *to++ = '-';
  if (std::isinf(value)) return static_cast<size_t>(put("inf", to) - begin);
  const ShortestDigits shortest(value);
  const auto& [scientific, bytes, mark, digits, count, exponent] = shortest;
  if (exponent < kLeastPlain || exponent > kMostPlain) {
    return static_cast<size_t>(put({scientific, bytes}, to) - begin);
  }
  if (exponent < 0) {
    to = std::fill_n(put("0.", to), -exponent - 1, '0');
    return static_cast<size_t>(std::copy_n(digits, count, to) - begin);
  }
  const int64_t before_point = std::min<int64_t>(exponent + 1, count);
  to = std::copy_n(digits, before_point, to);
  to = std::fill_n(to, exponent + 1 - before_point, '0');
  *to++ = '.';
  if (before_point == count) *to++ = '0';
  return static_cast<size_t>(std::copy(digits + before_point, digits + count, to) - begin);
}

// The digits at the begin of `*rest`, with underscores between them, which are passed.
std::string_view pass_digits(std::string_view* rest) {
  size_t count = 0;
  while (count < rest->size()) {
    const char letter = (*rest)[count];
    const bool joins =
        letter == '_' && count > 0 && count + 1 < rest->size() && is_digit((*rest)[count + 1]);
    if (!is_digit(letter) && !(joins && (*rest)[count - 1] != '_')) break;
    ++count;
  }
  const std::string_view digits = rest->substr(0, count);
  rest->remove_prefix(count);
  return digits;
}

// Answers whether the number is below zero.
bool pass_sign(std::string_view* rest) {
  const bool is_negative = rest->starts_with('-');
  if (is_negative || rest->starts_with('+')) rest->remove_prefix(1);
  return is_negative;
}

bool pass_exponent(std::string_view* rest, int64_t* exponent) {
  if (!rest->starts_with('e') && !rest->starts_with('E')) return true;
  rest->remove_prefix(1);
  const bool is_negative = pass_sign(rest);
  const std::string_view digits = pass_digits(rest);
  for (const char digit : digits) {
    if (digit != '_') *exponent = std::min(*exponent * 10 + (digit - '0'), kMostExponent);
  }
  if (is_negative) *exponent = -*exponent;
  return !digits.empty();
}

// The first `kept` digits of those that are put as an integer; the next one says whether it is rounded up.
class RoundedDigits {
 public:
  explicit RoundedDigits(int64_t kept) : kept_(kept) {}

  void add(std::string_view digits) {
    for (const char digit : digits) {
      if (digit == '_') continue;
      if (kept_ > 0) {
        word_ = word_ * 10 + (digit - '0');
        if (++pending_ == kWordDigits) flush();
      } else if (kept_ == 0) {
        rounds_up_ = digit >= '5';
      }
      --kept_;
    }
  }

  std::optional<Int128> finish() {
    flush();
    for (; kept_ > 0 && value_ != 0 && fits_; --kept_) shift(10);
    if (rounds_up_) fits_ = !__builtin_add_overflow(value_, Int128{1}, &value_) && fits_;
    return fits_ ? std::optional(value_) : std::nullopt;
  }

 private:
  void shift(Int128 power) { fits_ = !__builtin_mul_overflow(value_, power, &value_) && fits_; }

  void flush() {
    if (pending_ == 0) return;
    shift(power_of_ten(pending_));
    fits_ = !__builtin_add_overflow(value_, Int128{word_}, &value_) && fits_;
    word_ = pending_ = 0;
  }

  int64_t kept_;
  int64_t word_ = 0;  // digits that are not in the value yet
  int32_t pending_ = 0;
  Int128 value_ = 0;
  bool rounds_up_ = false;
  bool fits_ = true;
};

int64_t count_digits(std::string_view digits) {
  return static_cast<int64_t>(digits.size()) - std::count(digits.begin(), digits.end(), '_');
}

std::optional<Int128> read_in_base(std::string_view digits, int base) {
  uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const std::from_chars_result parsed = std::from_chars(digits.data(), end, value, base);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return Int128{value};
}

// Beyond the range of the type from_chars leaves the value as it was.
template <class Real>
Real beyond_range(std::string_view number);
template <>
double beyond_range(std::string_view number) {
  return std::strtod(std::string(number).c_str(), nullptr);
}
template <>
float beyond_range(std::string_view number) {
  return std::strtof(std::string(number).c_str(), nullptr);
}

template <class Real>
std::optional<double> read_unsigned_real(std::string_view number) {
  Real value = 0;
  const char* const end = number.data() + number.size();
  const std::from_chars_result parsed = std::from_chars(number.data(), end, value);
  if (parsed.ptr != end || parsed.ec == std::errc::invalid_argument) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range) value = beyond_range<Real>(number);
  return value;
}

template <class Real>
std::optional<double> read_real(std::string_view number) {
  number = without_spaces(number);
  if (number.starts_with('+')) {
    number.remove_prefix(1);
    if (number.starts_with('-')) return std::nullopt;
  }
  const std::optional<double> value = read_unsigned_real<Real>(number);
  if (value || number.find('_') == std::string_view::npos) return value;
  std::string_view rest = number;
  pass_sign(&rest);
  const std::string_view whole = pass_digits(&rest);
  if (rest.starts_with('.')) rest.remove_prefix(1);
  const std::string_view fraction = pass_digits(&rest);
  int64_t exponent = 0;
  const bool has_digits = !whole.empty() || !fraction.empty();
  if (!has_digits || !pass_exponent(&rest, &exponent) || !rest.empty()) return std::nullopt;
  std::string plain(number);
  std::erase(plain, '_');
  return read_unsigned_real<Real>(plain);
}

}  // namespace

template <class Real>
ShortestDigits::ShortestDigits(Real value) {
  const auto format = std::chars_format::scientific;
  char* const end = std::to_chars(scientific, std::end(scientific), std::fabs(value), format).ptr;
  scientific_bytes = static_cast<size_t>(end - scientific);
  char* const mark_at = std::find(scientific, end, 'e');
  mark = static_cast<size_t>(mark_at - scientific);
  std::from_chars(mark_at + (mark_at[1] == '+' ? 2 : 1), end, exponent);
  digits[0] = scientific[0];
  count = std::copy(std::min(scientific + 2, mark_at), mark_at, digits + 1) - digits;
}

template ShortestDigits::ShortestDigits(double value);
template ShortestDigits::ShortestDigits(float value);

size_t write_decimal(Int128 unscaled, int32_t scale, char* to) {
  constexpr uint64_t kLowerPart = 10'000'000'000'000'000'000U;  // 10^19
  char* const begin = to;
  const auto bits = static_cast<UInt128>(unscaled);
  const UInt128 size = unscaled < 0 ? -bits : bits;
  if (unscaled < 0) *to++ = '-';
  char digits[40];
  char* end = digits;
  if (size >= kLowerPart) {
    end = std::to_chars(digits, digits + 20, static_cast<uint64_t>(size / kLowerPart)).ptr;
    char lower[20];
    const auto rest = static_cast<uint64_t>(size % kLowerPart);
    const char* const lower_end = std::to_chars(lower, lower + 20, rest).ptr;
    end = std::fill_n(end, 19 - (lower_end - lower), '0');
    end = std::copy(static_cast<const char*>(lower), lower_end, end);
  } else {
    end = std::to_chars(digits, digits + 20, static_cast<uint64_t>(size)).ptr;
  }
  const int64_t before_point = (end - digits) - scale;
  if (before_point <= 0) {
    to = std::fill_n(put("0.", to), -before_point, '0');
    return static_cast<size_t>(std::copy(digits, end, to) - begin);
  }
  to = std::copy_n(digits, before_point, to);
  if (scale > 0) *to++ = '.';
  return static_cast<size_t>(std::copy(digits + before_point, end, to) - begin);
}

size_t write_real(double value, char* to) { return write_shortest(value, to); }
size_t write_real(float value, char* to) { return write_shortest(value, to); }

char* put(std::string_view letters, char* to) {
  return std::copy(letters.begin(), letters.end(), to);
}

char* write_padded(int64_t value, int64_t digits, char* to) {
  char written[20];
  const char* const end = std::to_chars(written, written + sizeof written, value).ptr;
  to = std::fill_n(to, std::max<int64_t>(digits - (end - written), 0), '0');
  return std::copy(static_cast<const char*>(written), end, to);
}

std::string_view without_spaces(std::string_view string) {
  while (!string.empty() && is_space(string.front())) string.remove_prefix(1);
  while (!string.empty() && is_space(string.back())) string.remove_suffix(1);
  return string;
}

std::optional<Int128> read_decimal(std::string_view number, int32_t scale) {
  std::string_view rest = without_spaces(number);
  const bool is_negative = pass_sign(&rest);
  const std::string_view whole = pass_digits(&rest);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = pass_digits(&rest);
  }
  int64_t exponent = 0;
  const bool has_digits = !whole.empty() || !fraction.empty();
  if (!has_digits || !pass_exponent(&rest, &exponent) || !rest.empty()) return std::nullopt;
  RoundedDigits digits(count_digits(whole) + exponent + scale);
  digits.add(whole);
  digits.add(fraction);
  const std::optional<Int128> value = digits.finish();
  return value && is_negative ? std::optional(-*value) : value;
}

std::optional<Int128> read_integer(std::string_view number) {
  int64_t word = 0;
  const char* const end = number.data() + number.size();
  const std::from_chars_result parsed = std::from_chars(number.data(), end, word);
  if (parsed.ec == std::errc() && parsed.ptr == end) return Int128{word};
  const std::string_view trimmed = without_spaces(number);
  if (trimmed.starts_with("0x") || trimmed.starts_with("0X")) {
    return read_in_base(trimmed.substr(2), 16);
  }
  if (trimmed.starts_with("0b") || trimmed.starts_with("0B")) {
    return read_in_base(trimmed.substr(2), 2);
  }
  return read_decimal(number, 0);
}

std::optional<double> read_double(std::string_view number) { return read_real<double>(number); }
std::optional<double> read_float(std::string_view number) { return read_real<float>(number); }

}  // namespace crossdock::expressions
