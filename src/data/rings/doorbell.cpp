// Doorbells on Linux futexes.
//
// Why no wake-up is lost: everything happens to one word, and exchanges of one word have one order. A ringer has
// written its news before it exchanges. If that exchange comes before the look, the look reads it (acquire) and the
// news are seen in the second look at the rings. If it comes between look and wait, the count is another one, so the
// exchange in wait() fails and the waiter goes back. If it comes after the exchange in wait(), the ringer finds bit 0,
// and calls the kernel; and the kernel compares the word again before it lets the waiter sleep, in one piece with the
// queue that the ringer's call wakes. With the sleepers counted in a second word this would need stores and loads of
// two words in the same order for both sides, that is, fences.
//
// A waiter that sleeps through 2^31 rings between look and wait would miss them; it has a time limit like any other.
#include "data/rings/doorbell.hpp"

#include <algorithm>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "data/rings/atomic.hpp"

namespace crossdock {
namespace {

using Rings = StdAtomic<uint32_t, Scope::kSystem>;
constexpr uint32_t kMaySleep = 1;
constexpr uint32_t kOneRing = 2;

// FUTEX_PRIVATE_FLAG is left out: the word may be mapped by several processes, at different addresses.
void futex(uint32_t* word, int operation, uint32_t value, const timespec* at_most) {
  // Woken, timed out, interrupted, or the word is another one: the caller looks at the rings in any case.
  (void)syscall(SYS_futex, word, operation, value, at_most, nullptr, 0);
}

}  // namespace

uint32_t Doorbell::look() const { return Rings(words_->rings).load(Acquire{}) & ~kMaySleep; }

void Doorbell::wait(uint32_t note, std::chrono::microseconds at_most) const {
  uint32_t found = note;
  const bool announced =
      Rings(words_->rings).compare_exchange(found, note | kMaySleep, AcquireRelease{});
  if (announced || found == (note | kMaySleep)) {
    const auto left = std::max(at_most, std::chrono::microseconds(0));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time{
        .tv_sec = static_cast<time_t>(seconds.count()),
        .tv_nsec = static_cast<long>(std::chrono::nanoseconds(left - seconds).count())};
    futex(&words_->rings, FUTEX_WAIT, note | kMaySleep, &time);
  }
  (void)Rings(words_->rings).load(Acquire{});  // what the ringer wrote is seen from here on
}

void Doorbell::ring() const {
  const Rings rings(words_->rings);
  uint32_t before = rings.load(Relaxed{});
  // Ends: each failed turn is the ring, or the announcement, of another thread.
  while (!rings.compare_exchange(before, (before & ~kMaySleep) + kOneRing, AcquireRelease{})) {
  }
  if ((before & kMaySleep) != 0) futex(&words_->rings, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace crossdock
