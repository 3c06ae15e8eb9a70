// One source of chance, so that a run can be repeated.
//
// Whatever a run leaves open, it asks for by pick(n): who moves next when one thread plays all actors, which link of a
// simulated network fails. Behind that is a seed or, in tests, an enumeration of all there can be; the run cannot tell
// which, and must depend on nothing else.
#pragma once

#include <cstdint>

namespace crossdock {

class Chance {
 public:
  virtual ~Chance() = default;
  // One of 0 to n - 1; n is at least 1.
  virtual uint64_t pick(uint64_t n) = 0;
};

// The same picks for the same seed, on every machine.
class SeededChance : public Chance {
 public:
  explicit SeededChance(uint64_t seed) : state_(seed) {}
  uint64_t pick(uint64_t n) override;

 private:
  uint64_t state_;
};

}  // namespace crossdock
