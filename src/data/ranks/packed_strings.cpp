#include "data/ranks/packed_strings.hpp"

#include <charconv>

#include <fmt/format.h>

namespace crossdock::ranks {
namespace {

constexpr char kAfterLength = '\n';

}  // namespace

std::string packed_strings(const std::vector<std::string>& strings) {
  std::string all;
  for (const std::string& text : strings)
    all += fmt::format("{}{}{}", text.size(), kAfterLength, text);
  return all;
}

std::optional<std::vector<std::string>> unpacked_strings(std::string_view all, size_t count) {
  std::vector<std::string> strings;
  while (!all.empty()) {
    size_t bytes = 0;
    const auto [rest, problem] = std::from_chars(all.data(), all.data() + all.size(), bytes);
    const auto digits = static_cast<size_t>(rest - all.data());
    if (problem != std::errc() || digits >= all.size() || *rest != kAfterLength ||
        all.size() - digits - 1 < bytes) {
      return std::nullopt;
    }
    strings.emplace_back(all.substr(digits + 1, bytes));
    all.remove_prefix(digits + 1 + bytes);
  }
  return strings.size() == count ? std::optional(std::move(strings)) : std::nullopt;
}

}  // namespace crossdock::ranks
