// Characters of UTF-8 strings. A character is a byte and the continuation bytes behind it, so that strings that are
// not UTF-8 have characters too, and walks in both directions see the same ones.
#pragma once

#include <cstdint>
#include <cstring>
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

// Eight bytes from `at` on, where they are ASCII.
inline bool load_ascii(const char* at, const char* end, uint64_t& word) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  if (end - at < 8) return false;
  std::memcpy(&word, at, 8);
  return (word & kHighBits) == 0;
}

// The first byte behind `count` characters from `at` on, or `end`.
inline const char* skip_characters(const char* at, const char* end, int64_t count) {
  for (uint64_t word = 0; count >= 8 && load_ascii(at, end, word); count -= 8) at += 8;
  for (; count > 0 && at < end; --count) at = next_character(at, end);
  return at;
}

inline int64_t count_characters(std::string_view string) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const auto load = [](const char* from) {
    uint64_t word = 0;
    std::memcpy(&word, from, 8);
    return word;
  };
  // A one in each byte that is a continuation.
  const auto continuations = [](uint64_t word) { return (word >> 7) & ~(word >> 6) & kOnes; };
  const auto sum_of_bytes = [](uint64_t word) { return (word * kOnes) >> 56; };
  const char* at = string.data();
  const char* const end = at + string.size();
  uint64_t continued = 0;
  for (; end - at >= 32; at += 32) {
    continued += sum_of_bytes(continuations(load(at)) + continuations(load(at + 8)) +
                              continuations(load(at + 16)) + continuations(load(at + 24)));
  }
  for (; end - at >= 8; at += 8) continued += sum_of_bytes(continuations(load(at)));
  if (at < end && string.size() >= 8) {
    const auto counted_bits = 8 * (8 - (end - at));
    continued += sum_of_bytes(continuations(load(end - 8) >> counted_bits));
  } else {
    for (; at < end; ++at) continued += is_continuation(*at) ? 1 : 0;
  }
  return static_cast<int64_t>(string.size() - continued);
}

struct CodePoint {
  uint32_t value;
  size_t bytes;  // 0: not UTF-8
};

inline CodePoint code_point_at(const char* from, size_t left) {
  const auto* at = reinterpret_cast<const uint8_t*>(from);
  const uint8_t lead = at[0];
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (bytes == 0 || bytes > left || lead > 0xF4) return {0, 0};
  uint32_t value = lead & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((at[i] & 0xC0) != 0x80) return {0, 0};
    value = value << 6 | (at[i] & 0x3FU);
  }
  return {value, bytes};
}

}  // namespace crossdock::expressions
