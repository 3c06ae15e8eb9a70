// Choices by seed and by depth-first search.
#include "data/rings/schedule.hpp"

#include "base/check.hpp"

namespace crossdock::rings {

size_t SeededSchedule::choose(size_t options) {
  CD_CHECK(options > 0, "options {}", options);
  // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
  uint64_t mixed = state_ += 0x9E3779B97F4A7C15;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
  return (mixed ^ mixed >> 31) % options;
}

size_t ExhaustiveSchedule::choose(size_t options) {
  CD_CHECK(options > 0, "options {}", options);
  if (depth_ == path_.size()) path_.push_back({0, options});
  const Choice& choice = path_[depth_++];
  CD_CHECK(choice.options == options,
           "choice {} had {} options and has {}: the run depends on more than its choices",
           depth_ - 1,
           choice.options,
           options);
  return choice.taken;
}

bool ExhaustiveSchedule::next() {
  path_.resize(depth_);
  depth_ = 0;
  while (!path_.empty() && path_.back().taken + 1 == path_.back().options) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

std::vector<size_t> ExhaustiveSchedule::choices() const {
  std::vector<size_t> taken;
  for (size_t at = 0; at < depth_; ++at) taken.push_back(path_[at].taken);
  return taken;
}

}  // namespace crossdock::rings
