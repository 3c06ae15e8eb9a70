// What else the scheduler knows of a thread stays as it was.
#include "base/short_slices.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <thread>

#include <gtest/gtest.h>

namespace crossdock {
namespace {

TEST(ShortSlices, LeavePolicyAndNiceness) {
  std::thread([] {
    ASSERT_EQ(::setpriority(PRIO_PROCESS, 0, 7), 0);  // of the thread, on Linux
    ask_for_short_slices();
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), 7);
    EXPECT_EQ(::sched_getscheduler(0), SCHED_OTHER);
    sched_param none = {};
    ASSERT_EQ(::sched_setscheduler(0, SCHED_BATCH, &none), 0);
    ask_for_short_slices();
    EXPECT_EQ(::sched_getscheduler(0), SCHED_BATCH);
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), 7);
  }).join();
}

}  // namespace
}  // namespace crossdock
