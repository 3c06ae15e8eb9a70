// One alarm, for the next end; set again whenever shares may have changed.
#include "sim/timed_flows.hpp"

#include <utility>

namespace crossdock::sim {

FlowNumber TimedFlows::start(FlowShape shape, std::function<void()> arrived) {
  const FlowNumber flow = network_.start(clock_.now_s(), std::move(shape));
  arrived_.resize(flow + size_t{1});
  arrived_[flow] = std::move(arrived);
  ++under_way_;
  look_again();
  return flow;
}

double TimedFlows::stop(FlowNumber flow) {
  if (flow >= arrived_.size() || !arrived_[flow]) return 0;
  arrived_[flow] = nullptr;
  --under_way_;
  look_again();
  return network_.stop(clock_.now_s(), flow);
}

void TimedFlows::set_link(LinkNumber link, double bytes_per_s) {
  network_.set_link(clock_.now_s(), link, bytes_per_s);
  look_again();
}

void TimedFlows::look_again() {
  if (is_looking_) return;
  is_looking_ = true;
  clock_.at(clock_.now_s(), [this] {
    is_looking_ = false;
    const uint64_t alarm = ++alarm_;
    const double next_s = network_.next_end_s(clock_.now_s());
    if (next_s == FairNetwork::kNever) return;
    clock_.at(next_s, [this, alarm] {
      if (alarm == alarm_) end_flows();
    });
  });
}

void TimedFlows::end_flows() {
  for (const FlowNumber flow : network_.take_ended(clock_.now_s())) {
    if (!arrived_[flow]) continue;
    clock_.at(clock_.now_s() + network_.latency_of(flow),
              [this, arrived = std::exchange(arrived_[flow], nullptr)] {
                --under_way_;
                arrived();
              });
  }
  look_again();
}

}  // namespace crossdock::sim
