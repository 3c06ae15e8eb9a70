// Strings in one, each behind its length: "5\nhello2\nhi".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crossdock::ranks {

std::string packed_strings(const std::vector<std::string>& strings);
// None unless they are `count`.
std::optional<std::vector<std::string>> unpacked_strings(std::string_view all, size_t count);

}  // namespace crossdock::ranks
