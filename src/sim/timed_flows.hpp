// Flows on a clock: what is to happen when one has arrived.
#pragma once

#include <functional>
#include <vector>

#include "sim/fair_network.hpp"
#include "sim/virtual_clock.hpp"

namespace crossdock::sim {

// Both are used by this alone while flows are under way, but for adding links and events.
class TimedFlows {
 public:
  TimedFlows(VirtualClock& clock, FairNetwork& network) : clock_(clock), network_(network) {}

  // From now on; `arrived` is called once, when the last byte is there.
  FlowNumber start(FlowShape shape, std::function<void()> arrived);
  // Gives the bytes that had not left; `arrived` is not called.
  double stop(FlowNumber flow);
  void set_link(LinkNumber link, double bytes_per_s);
  int under_way() const { return under_way_; }

 private:
  void look_again();
  void end_flows();

  VirtualClock& clock_;
  FairNetwork& network_;
  std::vector<std::function<void()>> arrived_;  // per flow
  bool is_looking_ = false;                     // this moment, once all has begun that begins now
  uint64_t alarm_ = 0;                          // the one that counts
  int under_way_ = 0;
};

}  // namespace crossdock::sim
