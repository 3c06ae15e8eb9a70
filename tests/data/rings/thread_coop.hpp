// Several threads as one Coop, as the threads of a GPU's block would be.
#pragma once

#include <barrier>
#include <cstdint>
#include <vector>

#include "data/rings/coop.hpp"

namespace crossdock::rings {

// What the threads of a group share.
struct ThreadGroup {
  explicit ThreadGroup(uint32_t size) : arrive(size), values(size) {}
  std::barrier<> arrive;
  std::vector<uint64_t> values;
};

class ThreadCoop {
 public:
  ThreadCoop(ThreadGroup& group, uint32_t rank) : group_(&group), rank_(rank) {}

  uint32_t rank() const { return rank_; }
  uint32_t size() const { return static_cast<uint32_t>(group_->values.size()); }
  void sync() const { group_->arrive.arrive_and_wait(); }
  uint64_t sum(uint64_t value) const {
    group_->values[rank_] = value;
    sync();
    uint64_t total = 0;
    for (const uint64_t other : group_->values) total += other;
    sync();  // no thread puts the next value in before all have read this one
    return total;
  }

 private:
  ThreadGroup* group_;
  uint32_t rank_;
};
static_assert(Coop<ThreadCoop>);

}  // namespace crossdock::rings
