// A priority queue.
#include "sim/virtual_clock.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace crossdock::sim {

void VirtualClock::at(double at_s, std::function<void()> act) {
  CD_CHECK(at_s == at_s, "an event at no time");
  events_.push({std::max(at_s, now_s_), arranged_++, std::move(act)});
}

bool VirtualClock::step() {
  if (events_.empty()) return false;
  const std::function<void()> act = events_.top().act;
  now_s_ = events_.top().at_s;
  events_.pop();
  ++done_;
  act();
  return true;
}

}  // namespace crossdock::sim
