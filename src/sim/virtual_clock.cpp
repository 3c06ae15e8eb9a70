// A heap.
#include "sim/virtual_clock.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace crossdock::sim {

void VirtualClock::at(double at_s, std::function<void()> act) {
  CD_CHECK(at_s == at_s, "an event at no time");
  events_.push_back({std::max(at_s, now_s_), arranged_++, std::move(act)});
  std::push_heap(events_.begin(), events_.end());
}

bool VirtualClock::step() {
  if (events_.empty()) return false;
  std::pop_heap(events_.begin(), events_.end());
  const Event event = std::move(events_.back());
  events_.pop_back();
  now_s_ = event.at_s;
  ++done_;
  event.act();
  return true;
}

}  // namespace crossdock::sim
