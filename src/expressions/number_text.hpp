// Numbers as SQL writes them, and numbers of strings in whatever form people write them. Pure; no function allocates
// but for reals beyond the range of their type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/int128.hpp"

namespace crossdock::expressions {

// What the writers below need at most.
constexpr size_t kMostNumberBytes = 48;

// Each writes at `to` and answers the bytes.
size_t write_decimal(Int128 unscaled, int32_t scale, char* to);
// The fewest digits that are read as the same number, with an exponent below 1e-4 and from 1e16 on; 1.0, inf, nan.
size_t write_real(double value, char* to);
size_t write_real(float value, char* to);

// The fewest digits that are read as the same number, without its sign.
struct ShortestDigits {
  template <class Real>
  explicit ShortestDigits(Real value);  // finite

  char scientific[32];  // d.ddde+XX
  size_t scientific_bytes = 0;
  size_t mark = 0;  // where the e is
  char digits[24];  // without a point
  int64_t count = 0;
  int64_t exponent = 0;
};

// These answer the end of what they write. `value` at exactly `digits` digits and more, with zeros before it.
char* put(std::string_view letters, char* to);
char* write_padded(int64_t value, int64_t digits, char* to);

inline bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
inline bool is_space(char letter) { return letter == ' ' || (letter >= '\t' && letter <= '\r'); }
std::string_view without_spaces(std::string_view string);

// Readers take white space around a number, underscores between digits, and a sign; none if there is no number.
// Times 10^scale, halves rounded away from zero. None for 2^127 and above, too.
std::optional<Int128> read_decimal(std::string_view number, int32_t scale);
// The same of no digits behind the point; 0x1F and 0b101, too.
std::optional<Int128> read_integer(std::string_view number);
// The nearest one; "inf" and "nan" in any case.
std::optional<double> read_double(std::string_view number);
std::optional<double> read_float(std::string_view number);

}  // namespace crossdock::expressions
