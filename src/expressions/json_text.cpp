#include "expressions/json_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "expressions/letter_case.hpp"
#include "expressions/number_text.hpp"

namespace crossdock::expressions {
namespace {

std::optional<uint32_t> read_code_unit(std::string_view escape) {  // \u and four digits
  constexpr size_t kBytes = 6;
  if (escape.size() < kBytes || !escape.starts_with("\\u")) return std::nullopt;
  uint32_t unit = 0;
  const char* const end = escape.data() + kBytes;
  const auto [at, error] = std::from_chars(escape.data() + 2, end, unit, 16);
  return error == std::errc() && at == end ? std::optional(unit) : std::nullopt;
}

bool is_high_surrogate(uint32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low_surrogate(uint32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

bool ends_number(char letter) {
  return letter == ',' || letter == ']' || letter == '}' || is_json_space(letter);
}

const char* token_end(const char* at, const char* end) {
  if (*at == '"') return string_end(at, end);
  const bool is_number = is_digit(*at) || *at == '-';
  for (++at; is_number && at < end && !ends_number(*at);) ++at;
  return at;
}

// Calls `take` with each string and number of a value, and with each other letter that is no white space.
template <class Take>
void for_tokens(std::string_view value, const Take& take) {
  const char* const end = value.data() + value.size();
  for (const char* at = value.data(); at < end;) {
    const char* const behind = token_end(at, end);
    if (!is_json_space(*at)) take(std::string_view(at, static_cast<size_t>(behind - at)));
    at = behind;
  }
}

constexpr size_t kWordBytes = 8;

// Copies words, which for short tokens takes less than a call does: to bytes behind what it copies, too, and none from
// `end` on.
char* copy_token(std::string_view token, const char* end, char* to) {
  const char* const from = token.data();
  const size_t whole_words = (token.size() + kWordBytes - 1) / kWordBytes * kWordBytes;
  if (end - from < static_cast<int64_t>(whole_words)) return put(token, to);
  for (size_t i = 0; i < token.size(); i += kWordBytes) std::memcpy(to + i, from + i, kWordBytes);
  return to + token.size();
}

// A letter that cannot stand in a string as it is; the others are themselves.
char* write_escaped(uint32_t code_point, char* to) {
  constexpr std::string_view kNamed = "\"\"\\\\\bb\ff\nn\rr\tt";
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (size_t i = 0; i < kNamed.size(); i += 2) {
    if (code_point == static_cast<uint8_t>(kNamed[i])) {
      *to++ = '\\';
      *to++ = kNamed[i + 1];
      return to;
    }
  }
  if (code_point >= 0x20) return put_code_point(code_point, to);
  to = put("\\u00", to);
  *to++ = kDigits[code_point >> 4];
  *to++ = kDigits[code_point & 0xF];
  return to;
}

// Copies a string whose escapes `write` writes.
template <class Write>
char* copy_string(std::string_view string, char* to, const Write& write) {
  const char* const end = string.data() + string.size();
  for (const char* at = string.data();;) {
    const char* const plain_end = run_end(at, end);
    to = std::copy(at, plain_end, to);
    if (plain_end == end) return to;
    const Escape escape = read_escape({plain_end, static_cast<size_t>(end - plain_end)}).value();
    to = write(escape.code_point, to);
    at = plain_end + escape.bytes;
  }
}

// A string with its quotes.
char* write_string(std::string_view string, const char* end, char* to) {
  if (run_end(string.data() + 1, end) == string.data() + string.size() - 1)
    return copy_token(string, end, to);
  *to++ = '"';
  to = copy_string(string.substr(1, string.size() - 2), to, write_escaped);
  *to++ = '"';
  return to;
}

const char* digits_end(const char* at, const char* end) {
  while (at < end && is_digit(*at)) ++at;
  return at;
}

// Whether write_number writes a number as it is, for certain: a float of so few digits is the only one that they name.
bool stays_as_it_is(std::string_view number) {
  constexpr size_t kMostBytes = 16;              // 15 digits and the point
  constexpr std::string_view kZeros = "000000";  // behind the point, which would be an exponent
  const char* const begin = number.data() + (number[0] == '-' ? 1 : 0);
  const char* const end = number.data() + number.size();
  const char* const point = digits_end(begin, end);
  if (point == end) return number != "-0";
  const std::string_view behind(point + 1, static_cast<size_t>(end - point) - 1);
  if (*point != '.' || digits_end(point + 1, end) != end || number.size() > kMostBytes)
    return false;
  return behind == "0" || (behind.back() != '0' && (*begin != '0' || !behind.starts_with(kZeros)));
}

// The fewest digits that name the float, with an exponent below 1e-6 and from 1e21 on, as JavaScript has it.
char* write_float(double value, char* to) {
  constexpr int64_t kLeastPoint = -5;
  constexpr int64_t kMostPoint = 21;
  const ShortestDigits shortest(value);
  const auto& [scientific, bytes, mark, digits, count, exponent] = shortest;
  if (std::signbit(value)) *to++ = '-';
  const int64_t point = exponent + 1;  // of how many digits it stands behind
  if (point < kLeastPoint || point > kMostPoint) {
    to = std::copy_n(scientific, mark, to);
    *to++ = 'e';
    return std::to_chars(to, to + 5, exponent).ptr;
  }
  if (point <= 0) return std::copy_n(digits, count, std::fill_n(put("0.", to), -point, '0'));
  const int64_t before = std::min(point, count);
  to = std::fill_n(std::copy_n(digits, before, to), point - before, '0');
  *to++ = '.';
  if (count <= point) *to++ = '0';
  return std::copy(digits + before, digits + count, to);
}

// Numbers beyond those of float64 stay as they are.
char* write_number(std::string_view number, char* to) {
  if (stays_as_it_is(number)) return put(number, to);
  if (number == "-0") return put("0", to);
  const std::optional<double> value = read_double(number);
  if (!value || !std::isfinite(*value)) return put(number, to);
  return write_float(*value, to);
}

// Calls `item` with the first token of each item of an array, and with each key of an object.
template <class Item>
void for_items(std::string_view value, const Item& item) {
  int64_t depth = 0;
  bool is_begin = false;  // of an item, if one comes
  for_tokens(value, [&](std::string_view token) {
    const char first = token[0];
    const bool opens = first == '{' || first == '[';
    const bool closes = first == '}' || first == ']';
    if (depth == 1 && is_begin && !closes) {
      item(token);
      is_begin = false;
    }
    depth += opens ? 1 : closes ? -1 : 0;
    if (depth == 1 && (opens || first == ',')) is_begin = true;
  });
}

}  // namespace

std::optional<Escape> read_escape(std::string_view escape) {
  constexpr std::string_view kNamed = "\"\"\\\\//b\bf\fn\nr\rt\t";
  if (escape.size() < 2) return std::nullopt;
  for (size_t i = 0; i < kNamed.size(); i += 2) {
    if (escape[1] == kNamed[i]) return Escape{static_cast<uint8_t>(kNamed[i + 1]), 2};
  }
  const std::optional<uint32_t> unit = read_code_unit(escape);
  if (!unit || is_low_surrogate(*unit)) return std::nullopt;
  if (!is_high_surrogate(*unit)) return Escape{*unit, 6};
  const std::optional<uint32_t> low = read_code_unit(escape.substr(6));
  if (!low || !is_low_surrogate(*low)) return std::nullopt;
  return Escape{0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00), 12};
}

size_t bytes_not_finite(std::string_view number) {
  for (const std::string_view word : {"infinity", "inf", "nan"}) {
    const auto is_same = [](char lower, char letter) { return lower == (letter | 0x20); };
    if (number.size() >= word.size() &&
        std::equal(word.begin(), word.end(), number.begin(), is_same))
      return word.size();
  }
  return 0;
}

bool is_written(std::string_view value) {
  const char first = value[0];
  if (first == '{' || first == '[') return false;
  if (is_digit(first) || first == '-') return stays_as_it_is(value);
  return first != '"' || value.find('\\') == std::string_view::npos;
}

size_t most_json_bytes(std::string_view value) {
  constexpr int64_t kMostGrowth = 20;  // of 1e20
  const int64_t exponents =
      std::count_if(value.begin(), value.end(), [](char letter) { return (letter | 0x20) == 'e'; });
  return value.size() + static_cast<size_t>(exponents * kMostGrowth) + kWordBytes;
}

size_t write_json(std::string_view value, char* to) {
  char* const begin = to;
  const char* const end = value.data() + value.size();
  for (const char* at = value.data(); at < end;) {
    const char first = *at;
    const std::string_view token(at, static_cast<size_t>(token_end(at, end) - at));
    if (first == '"') {
      to = write_string(token, end, to);
    } else if (is_digit(first) || first == '-') {
      to = stays_as_it_is(token) ? copy_token(token, end, to) : write_number(token, to);
    } else if (!is_json_space(first)) {
      const bool closes = first == '}' || first == ']';
      if (closes && to[-1] == ',') --to;
      *to++ = first;
    }
    at += token.size();
  }
  return static_cast<size_t>(to - begin);
}

size_t write_unescaped(std::string_view string, char* to) {
  return static_cast<size_t>(copy_string(string, to, put_code_point) - to);
}

size_t write_keys(std::string_view value, char* to) {
  char* const begin = to;
  *to++ = '[';
  if (value.starts_with('{')) {
    for_items(value, [&](std::string_view key) {
      if (to - begin > 1) *to++ = ',';
      to += write_json(key, to);
    });
  }
  *to++ = ']';
  return static_cast<size_t>(to - begin);
}

std::string_view json_type_name(std::string_view value) {
  switch (value[0]) {
    case '{':
      return "OBJECT";
    case '[':
      return "ARRAY";
    case '"':
      return "VARCHAR";
    case 't':
    case 'f':
      return "BOOLEAN";
    default:
      break;
  }
  if (value == "null") return "NULL";
  const char* const end = value.data() + value.size();
  if (digits_end(value.data() + (value[0] == '-' ? 1 : 0), end) != end) return "DOUBLE";
  if (value[0] == '-') {
    int64_t number = 0;
    return std::from_chars(value.data(), end, number).ec == std::errc() ? "BIGINT" : "DOUBLE";
  }
  uint64_t number = 0;
  return std::from_chars(value.data(), end, number).ec == std::errc() ? "UBIGINT" : "DOUBLE";
}

int64_t count_items(std::string_view value) {
  int64_t count = 0;
  for_items(value, [&](std::string_view /*item*/) { ++count; });
  return count;
}

}  // namespace crossdock::expressions
