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
// Before a waiter sleeps it looks for a while, and lets other threads of its core run between two looks: who passes
// segments on at full speed is waited for a few microseconds at a time, and a sleep costs its waker a call to the
// kernel and itself the way back, tens of microseconds on a virtual machine whose idle cores are given away. Where
// others take the core meanwhile it has better things to do than to be looked from, and the waiter sleeps.
//
// A waiter that sleeps through 2^31 rings between look and wait would miss them; it has a time limit like any other.
#include "data/rings/doorbell.hpp"

#include <algorithm>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "data/rings/atomic.hpp"

namespace crossdock::rings {
namespace {

using Rings = StdAtomic<uint32_t, Scope::kSystem>;
using Clock = std::chrono::steady_clock;
constexpr uint32_t kMaySleep = 1;
constexpr uint32_t kOneRing = 2;
// About what a sleep costs, so that looking in vain at most doubles it. Two processes, segments of 64 KiB, on two cores
// of a virtual machine: 7.5 GB/s without looks, 8.4 with 50 microseconds of them, 8.6 with 100, 8.4 with 200.
constexpr std::chrono::microseconds kLookFor{100};
// A look is over in a fraction of this unless another thread has run on the core.
constexpr std::chrono::microseconds kOthersRan{20};

// FUTEX_PRIVATE_FLAG is left out: the word may be mapped by several processes, at different addresses.
void futex(uint32_t* word, int operation, uint32_t value, const timespec* at_most) {
  // Woken, timed out, interrupted, or the word is another one: the caller looks at the rings in any case.
  (void)syscall(SYS_futex, word, operation, value, at_most, nullptr, 0);
}

// Whether the bell rings within the time; false, too, once others want the core.
bool rings_soon(const Rings& rings, uint32_t note, Clock::time_point end) {
  Clock::time_point now = Clock::now(), before = now;
  do {
    if ((rings.load(Acquire{}) & ~kMaySleep) != note) return true;
    ::sched_yield();
    before = now;
    now = Clock::now();
  } while (now < end && now - before < kOthersRan);
  return false;
}

}  // namespace

uint32_t Doorbell::look() const { return Rings(words_->rings).load(Acquire{}) & ~kMaySleep; }

void Doorbell::wait(uint32_t note, std::chrono::microseconds at_most) const {
  const Rings rings(words_->rings);
  const Clock::time_point begin = Clock::now();
  if (rings_soon(rings, note, begin + std::min(at_most, kLookFor))) return;
  uint32_t seen = note;
  const bool announced = rings.compare_exchange(seen, note | kMaySleep, AcquireRelease{});
  if (announced || seen == (note | kMaySleep)) {
    const std::chrono::nanoseconds looked_for = Clock::now() - begin;
    const auto left = std::max(at_most - looked_for, std::chrono::nanoseconds(0));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time{.tv_sec = static_cast<time_t>(seconds.count()),
                        .tv_nsec = static_cast<long>((left - seconds).count())};
    futex(&words_->rings, FUTEX_WAIT, note | kMaySleep, &time);
  }
  (void)rings.load(Acquire{});  // what the ringer wrote is seen from here on
}

void Doorbell::ring() const {
  const Rings rings(words_->rings);
  uint32_t before = rings.load(Relaxed{});
  // Ends: each failed turn is the ring, or the announcement, of another thread.
  while (!rings.compare_exchange(before, (before & ~kMaySleep) + kOneRing, AcquireRelease{})) {
  }
  if ((before & kMaySleep) != 0) futex(&words_->rings, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace crossdock::rings
