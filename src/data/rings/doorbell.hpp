// A doorbell: how an end that has nothing to do sleeps until the other has done something. In the memory of the flows,
// so it works between threads and between processes of one host (a futex on `rings`).
//
// To wait: note = look(); look at the rings once more; if still nothing, wait(note). A ring between look and wait makes
// wait return at once. Ringing costs an exchange while no thread sleeps; it is meant for segments, not for rows. Any
// number of threads on both sides.
#pragma once

#include <chrono>
#include <cstdint>

#include "data/rings/ring.hpp"

namespace crossdock::rings {

struct DoorbellWords {
  // Bit 0: a thread may sleep. The rest counts rings, and wraps.
  alignas(kRingLineBytes) uint32_t rings = 0;
};
static_assert(sizeof(DoorbellWords) == kRingLineBytes);

class Doorbell {
 public:
  // The words are aligned as they say, cleared before their first use, and outlive the doorbell.
  explicit Doorbell(DoorbellWords* words) : words_(words) {}

  uint32_t look() const;
  // Returns after a ring, after the time, or now and then without either.
  void wait(uint32_t note, std::chrono::microseconds at_most) const;
  // What was written before is seen by who looks, or returns from wait, afterwards.
  void ring() const;

 private:
  DoorbellWords* words_;
};

}  // namespace crossdock::rings
