// CD_CHECK: contracts inside Crossdock, checked in every build. A broken one is our bug, never bad
// input, so it prints its values and ends the process before wrong rows can leave it.
#pragma once

#include <string>

#include <fmt/format.h>

namespace crossdock {

[[noreturn]] void fail_check(const char* condition,
                             const char* file,
                             int line,
                             const std::string& values);

}  // namespace crossdock

// CD_CHECK(rows <= capacity, "rows {} capacity {}", rows, capacity)
#define CD_CHECK(condition, ...)                                                           \
  do {                                                                                     \
    if (!(condition)) [[unlikely]]                                                         \
      ::crossdock::fail_check(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)
