// Characters of UTF-8 strings. A character is a byte and the continuation bytes behind it, so that strings that are
// not UTF-8 have characters too, and walks in both directions see the same ones.
#pragma once

#include <cstdint>
#include <string_view>

namespace crossdock::expressions {

constexpr bool is_continuation(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

// The first byte behind the character at `at` < `end`.
inline const char* next_character(const char* at, const char* end) {
  ++at;
  while (at < end && is_continuation(*at)) ++at;
  return at;
}

// The first byte of the character before `at` > `begin`.
inline const char* previous_character(const char* at, const char* begin) {
  --at;
  while (at > begin && is_continuation(*at)) --at;
  return at;
}

}  // namespace crossdock::expressions
