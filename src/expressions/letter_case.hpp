// Lower and upper case of UTF-8 strings, code point by code point, as pyarrow and DuckDB map them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace crossdock::expressions {

enum class LetterCase : uint8_t { kLower, kUpper };

// What a mapped string can have at most: a code point of two bytes may become one of three.
constexpr size_t most_bytes_in_case(size_t bytes) { return bytes + bytes / 2; }

// Writes the mapped string to `to`, which has room for most_bytes_in_case; answers the bytes written.
// Bytes that are not UTF-8 stay as they are.
size_t write_in_case(LetterCase letter_case, std::string_view from, char* to);

// Writes a code point as UTF-8, at most 4 bytes; answers where they end.
char* put_code_point(uint32_t value, char* to);

std::string in_case(LetterCase letter_case, std::string_view from);

}  // namespace crossdock::expressions
