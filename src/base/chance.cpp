#include "base/chance.hpp"

#include "base/check.hpp"

namespace crossdock {

uint64_t SeededChance::pick(uint64_t n) {
  CD_CHECK(n > 0, "pick of {}", n);
  // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). A large n would favour small numbers; those here are far below
  // 2^32, where that is not to be seen.
  uint64_t mixed = state_ += 0x9E3779B97F4A7C15;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
  return (mixed ^ mixed >> 31) % n;
}

}  // namespace crossdock
