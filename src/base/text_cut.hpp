// Strings that are cut to a length, as long values are in errors and long names in graphs.
#pragma once

#include <string_view>

namespace crossdock {

// The first characters of `text`, at most `bytes_max` bytes of them: never a part of a character of UTF-8, which what
// shows the text could not decode. Of bytes that are no UTF-8 at most 3 more are left out.
constexpr std::string_view first_characters(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  const auto goes_on = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  size_t end = bytes_max;
  while (end > 0 && bytes_max - end < 3 && goes_on(end)) --end;
  return text.substr(0, end);
}

}  // namespace crossdock
