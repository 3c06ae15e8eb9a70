// See short_slices.hpp. The scheduler of Linux (EEVDF) runs the thread whose share is due first, and a slice that is a
// tenth as long is due sooner. glibc has no name for the call before 2.41.
#include "base/short_slices.hpp"

#include <cstdint>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace crossdock {
namespace {

// As long as a few segments of 256 KiB take to be read from a socket.
constexpr uint64_t kSliceNs = 300'000;

// The first version of the kernel's struct sched_attr, 48 bytes.
struct ScheduleOfThread {
  uint32_t size = sizeof(ScheduleOfThread);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;  // of an ordinary thread: its slice
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};
static_assert(sizeof(ScheduleOfThread) == 48);

}  // namespace

void ask_for_short_slices() {
  ScheduleOfThread schedule;
  if (::syscall(SYS_sched_getattr, 0, &schedule, sizeof schedule, 0) != 0 ||
      schedule.policy != SCHED_OTHER)
    return;
  schedule.runtime_ns = kSliceNs;
  // A kernel that refuses runs the thread as before.
  (void)::syscall(SYS_sched_setattr, 0, &schedule, 0);
}

}  // namespace crossdock
