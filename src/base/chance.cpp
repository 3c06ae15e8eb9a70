// Picks by seed, by list and by depth-first search.
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

uint64_t ReplayedChance::pick(uint64_t n) {
  CD_CHECK(place_ < picks_.size(), "pick {} of {} replayed ones", place_, picks_.size());
  CD_CHECK(picks_[place_] < n, "pick {} is {}, of {}", place_, picks_[place_], n);
  return picks_[place_++];
}

uint64_t ExhaustiveChance::pick(uint64_t n) {
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

bool ExhaustiveChance::next() {
  path_.resize(depth_);
  depth_ = 0;
  while (!path_.empty() && path_.back().taken + 1 == path_.back().options) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

std::vector<uint64_t> ExhaustiveChance::picks() const {
  std::vector<uint64_t> taken;
  for (size_t at = 0; at < depth_; ++at) taken.push_back(path_[at].taken);
  return taken;
}

}  // namespace crossdock
