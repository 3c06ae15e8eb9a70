// Who moves next, when one thread plays all actors: chosen by a seed, or every possibility one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace crossdock::rings {

class Schedule {
 public:
  virtual ~Schedule() = default;
  // One of 0 … options - 1; options >= 1.
  virtual size_t choose(size_t options) = 0;
};

// The same seed gives the same choices everywhere.
class SeededSchedule : public Schedule {
 public:
  explicit SeededSchedule(uint64_t seed) : state_(seed) {}
  size_t choose(size_t options) override;

 private:
  uint64_t state_;
};

// Depth first through all sequences of choices: run once, then again as long as next() says so. What runs must depend
// on nothing but the choices. Memory: 16 bytes per choice of one run.
class ExhaustiveSchedule : public Schedule {
 public:
  size_t choose(size_t options) override;
  // Goes to the next sequence; false when all have been run.
  bool next();
  // The choices of this run so far, for the message of a failed one.
  std::vector<size_t> choices() const;

 private:
  struct Choice {
    size_t taken;
    size_t options;
  };
  std::vector<Choice> path_;
  size_t depth_ = 0;
};

}  // namespace crossdock::rings
