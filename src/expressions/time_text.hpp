// Dates and instants as SQL writes them, and those of strings. Pure; nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace crossdock::expressions {

// What the writers below need at most.
constexpr size_t kMostTimeBytes = 48;

// Year, month and day as ISO 8601 has them, which allows signs and longer years.
size_t write_date(int64_t days, char* to);
// The same, and the time of the day, with the digits of its second that are not zeros behind all others.
size_t write_instant(int64_t ticks, int64_t ticks_per_second, char* to);

// Days since 1970, of 2024-01-05, 2024/1/5 or "2024 1 5", with white space around it. A time behind is passed.
std::optional<int64_t> read_date(std::string_view date);
// Ticks since 1970 of such a date, and of hours, minutes and perhaps seconds behind it; digits that are less than a
// tick are cut. "Z" and "UTC" may follow.
std::optional<int64_t> read_instant(std::string_view instant, int64_t ticks_per_second);

}  // namespace crossdock::expressions
