// The clock of a simulation, and what happens when: events in the order of their times, and of their arrangement where
// times are equal, so that a run is the same every time. O(log events) each.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace crossdock::sim {

class VirtualClock {
 public:
  double now_s() const { return now_s_; }
  // `act` is called when it is `at_s`; at once, after what is due already, if that has passed.
  void at(double at_s, std::function<void()> act);
  // When the next event is; `otherwise` if there is none.
  double next_s(double otherwise) const { return due_.empty() ? otherwise : due_.front().at_s; }
  // Whether there was an event to go to.
  bool step();
  uint64_t events() const { return done_; }

 private:
  struct Due {
    double at_s = 0;
    uint64_t number = 0;
    uint32_t place = 0;  // among acts_

    // The earliest on top of a heap.
    bool operator<(const Due& other) const {
      return at_s != other.at_s ? at_s > other.at_s : number > other.number;
    }
  };

  double now_s_ = 0;
  uint64_t arranged_ = 0;
  uint64_t done_ = 0;
  std::vector<Due> due_;                     // a heap, of plain values
  std::vector<std::function<void()>> acts_;  // stay where they are until they are called
  std::vector<uint32_t> free_;               // places of acts_
};

}  // namespace crossdock::sim
