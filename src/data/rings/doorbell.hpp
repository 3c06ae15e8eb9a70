// A doorbell: how an end that has nothing to do sleeps until the other has done something. In the memory of the flows,
// so it works between threads and between processes of one host (a futex on `rings`).
//
// To wait: note = look(); look at the rings once more; if still nothing, wait(note). A ring between look and wait makes
// wait return at once. Ringing costs a load while nobody sleeps. Any number of threads on both sides.
#pragma once

#include <chrono>
#include <cstdint>

#include "data/rings/ring.hpp"

namespace crossdock {

struct DoorbellWords {
  alignas(kRingLineBytes) uint32_t rings = 0;  // counts; wraps
  uint32_t sleepers = 0;
};

class Doorbell {
 public:
  explicit Doorbell(DoorbellWords* words) : words_(words) {}

  uint32_t look() const;
  void wait(uint32_t note, std::chrono::microseconds at_most) const;
  // What was written before is seen by who wakes.
  void ring() const;

 private:
  DoorbellWords* words_;
};

}  // namespace crossdock
