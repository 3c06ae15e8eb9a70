// Three backs of pick(n).
#include "sim/chance.hpp"

#include "base/check.hpp"
#include "workload/key_mix.hpp"

namespace crossdock::sim {

uint64_t SeededChance::pick(uint64_t n) {
  CD_CHECK(n > 0, "pick of 0");
  state_ += 0x9e3779b97f4a7c15;
  // Larger n would favour small numbers; those here are far below 2^32, where that is not to be seen.
  picks_.push_back(workload::mixed(state_) % n);
  return picks_.back();
}

uint64_t ReplayedChance::pick(uint64_t n) {
  CD_CHECK(place_ < picks_.size(), "pick {} of {} replayed ones", place_, picks_.size());
  CD_CHECK(picks_[place_] < n, "pick {} is {}, of {}", place_, picks_[place_], n);
  return picks_[place_++];
}

uint64_t ExhaustiveChance::pick(uint64_t n) {
  CD_CHECK(n > 0, "pick of 0");
  if (place_ == digits_.size()) digits_.push_back({0, n});
  CD_CHECK(
      digits_[place_].base == n, "pick {} was of {}, is of {}", place_, digits_[place_].base, n);
  return digits_[place_++].value;
}

bool ExhaustiveChance::next() {
  place_ = 0;
  while (!digits_.empty()) {
    if (++digits_.back().value < digits_.back().base) return true;
    digits_.pop_back();
  }
  return false;
}

}  // namespace crossdock::sim
