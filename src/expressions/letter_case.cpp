// ASCII by arithmetic, the rest by search in the table of ranges.
#include "expressions/letter_case.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "expressions/case_ranges.hpp"
#include "expressions/utf8.hpp"

namespace crossdock::expressions {
namespace {

uint32_t mapped(LetterCase letter_case, uint32_t value) {
  const std::span<const CaseRange> ranges = letter_case == LetterCase::kLower
                                              ? std::span<const CaseRange>(kToLower)
                                              : std::span<const CaseRange>(kToUpper);
  const auto range =
      std::lower_bound(ranges.begin(), ranges.end(), value, [](const CaseRange& each, uint32_t of) {
        return each.last < of;
      });
  if (range == ranges.end() || value < range->first) return value;
  if ((value - range->first) % range->stride != 0) return value;
  return value + static_cast<uint32_t>(range->delta);
}

// Of eight bytes of ASCII at once: those in the other case have a bit turned.
uint64_t eight_in_case(uint64_t word, uint8_t first) {
  constexpr uint64_t kEach = 0x0101010101010101;
  const uint64_t not_below = word + kEach * (0x80U - first);
  const uint64_t above = word + kEach * (0x80U - first - 26);
  return word ^ ((not_below & ~above & kEach * 0x80) >> 2);
}

}  // namespace

char* put_code_point(uint32_t value, char* to) {
  if (value < 0x80) {
    *to++ = static_cast<char>(value);
  } else if (value < 0x800) {
    *to++ = static_cast<char>(0xC0 | value >> 6);
    *to++ = static_cast<char>(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    *to++ = static_cast<char>(0xE0 | value >> 12);
    *to++ = static_cast<char>(0x80 | (value >> 6 & 0x3F));
    *to++ = static_cast<char>(0x80 | (value & 0x3F));
  } else {
    *to++ = static_cast<char>(0xF0 | value >> 18);
    *to++ = static_cast<char>(0x80 | (value >> 12 & 0x3F));
    *to++ = static_cast<char>(0x80 | (value >> 6 & 0x3F));
    *to++ = static_cast<char>(0x80 | (value & 0x3F));
  }
  return to;
}

size_t write_in_case(LetterCase letter_case, std::string_view from, char* to) {
  const uint8_t first = letter_case == LetterCase::kLower ? 'A' : 'a';
  char* const begin = to;
  size_t i = 0;
  while (i < from.size()) {
    uint64_t word = 0;
    if (load_ascii(from.data() + i, from.data() + from.size(), word)) {
      word = eight_in_case(word, first);
      std::memcpy(to, &word, sizeof(word));
      to += sizeof(word);
      i += sizeof(word);
      continue;
    }
    const auto byte = static_cast<uint8_t>(from[i]);
    if (byte < 0x80) {
      *to++ = static_cast<char>(byte ^ (static_cast<uint8_t>(byte - first) < 26 ? 0x20 : 0));
      ++i;
      continue;
    }
    const CodePoint point = code_point_at(from.data() + i, from.size() - i);
    if (point.bytes == 0) {
      *to++ = from[i++];
      continue;
    }
    to = put_code_point(mapped(letter_case, point.value), to);
    i += point.bytes;
  }
  return static_cast<size_t>(to - begin);
}

std::string in_case(LetterCase letter_case, std::string_view from) {
  std::string to(most_bytes_in_case(from.size()), '\0');
  to.resize(write_in_case(letter_case, from, to.data()));
  return to;
}

}  // namespace crossdock::expressions
