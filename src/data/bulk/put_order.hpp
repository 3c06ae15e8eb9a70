// When full stages leave for other hosts.
//
//   as they fill   at once, by the thread that filled them: what Barthels et al. do, who found (section 6.2) that many
//                  processes then put to one at a time, while others wait for none.
//   in phases      rank i serves i + 1, i + 2, … in turn, so that each rank has one target, and each target one source,
//                  at a time (phased_order.cpp). Up to kSourcesAtOnce sources share a target's link without loss, so
//                  with no more of them than that there is one phase, which has them all: stages leave as they fill.
#pragma once

#include <memory>
#include <vector>

#include "base/result.hpp"
#include "data/bulk/put_stage.hpp"
#include "data/ranks/communicator.hpp"

namespace crossdock::bulk {

// Where stages go: what all orders know.
struct PutRoute {
  const BulkPlan* plan = nullptr;
  ranks::Window* window = nullptr;
  std::vector<WindowLayout> targets;  // by destination
  std::vector<int> ranks;             // by destination
  StagePool* pool = nullptr;
};

// Seconds that one worker spent.
struct PutTimes {
  double put_s = 0;
  double flush_s = 0;
  double wait_s = 0;
};

constexpr int kSourcesAtOnce = 3;  // of one target

// Whether all that ranks have for each other is one phase.
constexpr bool is_one_phase(int ranks) { return ranks - 1 <= kSourcesAtOnce; }

class PutOrder {
 public:
  virtual ~PutOrder() = default;
  // A stage that is full, or the last; it goes back to the pool when its bytes have left. Any worker, its own number.
  virtual Status submit(int worker, PutStage* stage) = 0;
  // Moves on what can be moved. `waits`: for a stage, which the pool has none of; then it may block for others.
  virtual Status step(int worker, bool waits) = 0;
  // All stages that this worker submitted have left, or will before finish() returns.
  virtual Status drain(int worker) = 0;
  // By one thread, when all workers have drained, also after an error: until other ranks need this one no more.
  virtual Status finish(const Status& mine) = 0;

  virtual const char* name() const = 0;
  virtual PutTimes times(int worker) const = 0;
};

std::unique_ptr<PutOrder> make_order_as_they_fill(PutRoute route, int workers);
std::unique_ptr<PutOrder> make_order_in_one_phase(PutRoute route, int workers);
// All ranks make it, and call finish(): they wait for each other.
std::unique_ptr<PutOrder> make_order_in_phases(PutRoute route,
                                               int workers,
                                               ranks::Communicator& ranks);

}  // namespace crossdock::bulk
