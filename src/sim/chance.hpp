// One source of chance, so that a run can be repeated, and a small world gone through completely.
//
// Whatever a simulation leaves open, it asks for by pick(n). Behind that is a seed, a list of earlier picks, or an
// enumeration of all there can be; the simulation cannot tell which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace crossdock::sim {

class Chance {
 public:
  virtual ~Chance() = default;
  // One of 0 to n - 1; n is at least 1.
  virtual uint64_t pick(uint64_t n) = 0;
};

// The same picks for the same seed, on every machine. Keeps them, so that they can be replayed.
class SeededChance : public Chance {
 public:
  explicit SeededChance(uint64_t seed) : state_(seed) {}
  uint64_t pick(uint64_t n) override;
  std::span<const uint64_t> picks() const { return picks_; }

 private:
  uint64_t state_;
  std::vector<uint64_t> picks_;
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

// Every combination of picks once, in the order of the digits of a number: run, then next(), until that is false.
class ExhaustiveChance : public Chance {
 public:
  uint64_t pick(uint64_t n) override;
  bool next();

 private:
  struct Digit {
    uint64_t value = 0;
    uint64_t base = 1;
  };
  std::vector<Digit> digits_;
  size_t place_ = 0;
};

}  // namespace crossdock::sim
