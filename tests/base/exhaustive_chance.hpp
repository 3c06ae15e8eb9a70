// All picks there are, one sequence after the other, so that a small world is gone through completely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/chance.hpp"
#include "base/check.hpp"

namespace crossdock {

// Depth first through all sequences of picks: run once, then again as long as next() says so. Memory: 16 bytes per pick
// of one run.
class ExhaustiveChance : public Chance {
 public:
  uint64_t pick(uint64_t n) override {
    CD_CHECK(n > 0, "pick of {}", n);
    if (depth_ == path_.size()) path_.push_back({0, n});
    const Pick& pick = path_[depth_++];
    CD_CHECK(pick.options == n,
             "pick {} was of {} and is of {}: the run depends on more than its picks",
             depth_ - 1,
             pick.options,
             n);
    return pick.taken;
  }

  // Goes to the next sequence; false when all have been run.
  bool next() {
    path_.resize(depth_);
    depth_ = 0;
    while (!path_.empty() && path_.back().taken + 1 == path_.back().options) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().taken;
    return true;
  }

  // Those of this run so far, for the message of a failed one.
  std::vector<uint64_t> picks() const {
    std::vector<uint64_t> taken;
    for (size_t at = 0; at < depth_; ++at) taken.push_back(path_[at].taken);
    return taken;
  }

 private:
  struct Pick {
    uint64_t taken;
    uint64_t options;
  };
  std::vector<Pick> path_;
  size_t depth_ = 0;
};

}  // namespace crossdock
