#include "base/text_fields.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace crossdock {

std::vector<std::string_view> fields_of(std::string_view text, char mark) {
  std::vector<std::string_view> fields;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(mark, begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  std::string bytes(text.size() / 2, '\0');
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t value = 0;
    if (text.size() - i < 2 || !read_number(text.substr(i, 2), value, 16)) return std::nullopt;
    bytes[i / 2] = static_cast<char>(value);
  }
  return bytes;
}

}  // namespace crossdock
