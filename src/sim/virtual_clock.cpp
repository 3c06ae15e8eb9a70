#include "sim/virtual_clock.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace crossdock::sim {

void VirtualClock::at(double at_s, std::function<void()> act) {
  CD_CHECK(at_s == at_s, "an event at no time");
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(acts_.size()));
    acts_.emplace_back();
  }
  const uint32_t place = free_.back();
  free_.pop_back();
  acts_[place] = std::move(act);
  due_.push_back({std::max(at_s, now_s_), arranged_++, place});
  std::push_heap(due_.begin(), due_.end());
}

bool VirtualClock::step() {
  if (due_.empty()) return false;
  std::pop_heap(due_.begin(), due_.end());
  const Due due = due_.back();
  due_.pop_back();
  const std::function<void()> act = std::exchange(acts_[due.place], nullptr);
  free_.push_back(due.place);
  now_s_ = due.at_s;
  ++done_;
  act();
  return true;
}

}  // namespace crossdock::sim
