// A seed that ends the process says which it was.
#include "base/long_run.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace crossdock {
namespace {

constexpr const char* kCommand = "CROSSDOCK_SEEDS=17..17 build/asan/program --gtest_filter=A.B";

TEST(RunningSeedDeathTest, IsSaidWhereTheProcessAborts) {
  EXPECT_DEATH(
      {
        const RunningSeed running(17, "program", "A.B");
        std::abort();
      },
      kCommand);
}

TEST(RunningSeedDeathTest, IsSaidWhereASanitizerEndsIt) {
  if (__sanitizer_set_death_callback == nullptr) GTEST_SKIP() << "built without a sanitizer";
  EXPECT_DEATH(
      {
        const RunningSeed running(17, "program", "A.B");
        int* volatile nothing = nullptr;
        *nothing = 1;
      },
      kCommand);
}

TEST(RunningSeedDeathTest, IsNotSaidOnceItHasEnded) {
  EXPECT_EXIT(
      {
        { const RunningSeed running(17, "program", "A.B"); }
        std::fputs("other\n", stderr);
        std::abort();
      },
      testing::KilledBySignal(SIGABRT),
      "^other\n$");
}

}  // namespace
}  // namespace crossdock
