// Parts of JSON documents that were checked (json_scanner.hpp), as they are handed out: pure functions. Writers put
// what they write at `to`, and answer its bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace crossdock::expressions {

inline bool is_json_space(char letter) {
  return letter == ' ' || letter == '\n' || letter == '\t' || letter == '\r';
}

static_assert(std::endian::native == std::endian::little);  // the first byte is in the lowest bits

// Of the bytes of a word that end a run of plain letters (quotes, backslashes, and those below a space) the highest
// bits. Bits behind the first may be wrong.
inline uint64_t ends_of_run(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t turned =
      word ^ (kOnes * 2);  // of which the quote is a space, and a control letter still none
  const uint64_t backslashes = word ^ (kOnes * '\\');
  const uint64_t ends =
      ((turned - kOnes * (' ' + 1)) & ~turned) | ((backslashes - kOnes) & ~backslashes);
  return ends & (kOnes * 0x80);
}

// The first letter that ends a run, or the end. Inline, since most strings are shorter than what a call costs.
[[gnu::always_inline]] inline const char* run_end(const char* at, const char* end) {
  for (; end - at >= 8; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const uint64_t ends = ends_of_run(word);
    if (ends != 0) return at + std::countr_zero(ends) / 8;
  }
  while (at < end && static_cast<uint8_t>(*at) >= ' ' && *at != '"' && *at != '\\') ++at;
  return at;
}

// Behind the quote that ends the string that begins at `at`, of a document that was checked.
inline const char* string_end(const char* at, const char* end) {
  for (at = run_end(at + 1, end); *at != '"'; at = run_end(at + 2, end)) {
  }
  return at + 1;
}

// What a backslash begins; none: nothing. Surrogates are one escape of two.
struct Escape {
  uint32_t code_point;
  size_t bytes;
};
std::optional<Escape> read_escape(std::string_view escape);

// How many bytes of nan, inf or infinity, in any case, a number begins with.
size_t bytes_not_finite(std::string_view number);

// A value as DuckDB writes it: without white space and commas behind last items, with escapes only where there must be
// some, and with floats in the fewest digits. Takes most_json_bytes at most.
size_t write_json(std::string_view value, char* to);
size_t most_json_bytes(std::string_view value);
// Whether a value that is no array or object is written so already.
bool is_written(std::string_view value);
// What stands between the quotes of a string, without escapes; at most as many bytes.
size_t write_unescaped(std::string_view string, char* to);
// The keys of an object as a JSON array, [] of what is none; at most as many bytes, and 2.
size_t write_keys(std::string_view value, char* to);

// "OBJECT", "ARRAY", "VARCHAR", "BOOLEAN", "NULL", "UBIGINT", "BIGINT", or "DOUBLE" of all other numbers.
std::string_view json_type_name(std::string_view value);
// Of an array, or keys of an object; 0 of what is neither.
int64_t count_items(std::string_view value);

}  // namespace crossdock::expressions
