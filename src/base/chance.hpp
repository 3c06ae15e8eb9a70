// One source of chance, so that a run can be repeated, and a small world gone through completely.
//
// Whatever a run leaves open, it asks for by pick(n): who moves next when one thread plays all actors, which link of a
// simulated network fails. Behind that is a seed, a list of earlier picks, or an enumeration of all there can be; the
// run cannot tell which, and must depend on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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

// Earlier picks again. CD_CHECK: the run asks for as many, and each is below its n.
class ReplayedChance : public Chance {
 public:
  explicit ReplayedChance(std::vector<uint64_t> picks) : picks_(std::move(picks)) {}
  uint64_t pick(uint64_t n) override;

 private:
  std::vector<uint64_t> picks_;
  size_t place_ = 0;
};

// Depth first through all sequences of picks: run once, then again as long as next() says so. Memory: 16 bytes per pick
// of one run.
class ExhaustiveChance : public Chance {
 public:
  uint64_t pick(uint64_t n) override;
  // Goes to the next sequence; false when all have been run.
  bool next();
  // Those of this run so far, for the message of a failed one and for ReplayedChance.
  std::vector<uint64_t> picks() const;

 private:
  struct Pick {
    uint64_t taken;
    uint64_t options;
  };
  std::vector<Pick> path_;
  size_t depth_ = 0;
};

}  // namespace crossdock
