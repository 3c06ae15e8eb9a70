// Strings split into fields, numbers in decimal, and bytes in hexadecimal: of addresses and environment variables.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace crossdock {

// Between the marks, one more than there are of them.
std::vector<std::string_view> fields_of(std::string_view text, char mark);

// `text` as a whole number, and nothing behind it; false if it is none that the type holds.
template <class Integer>
bool read_number(std::string_view text, Integer& number, int base = 10) {
  const char* const end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, number, base);
  return problem == std::errc() && at == end;
}

// Two hexadecimal digits a byte.
std::string hex_of(std::span<const std::byte> bytes);
std::optional<std::string> from_hex(std::string_view text);

}  // namespace crossdock
