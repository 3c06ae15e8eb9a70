#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace crossdock {

void fail_check(const char* condition, const char* file, int line, const std::string& values) {
  fmt::print(stderr, "crossdock: broken contract {} at {}:{}: {}\n", condition, file, line, values);
  std::abort();
}

}  // namespace crossdock
