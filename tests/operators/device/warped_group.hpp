// Several threads as one BlockGroup with warps of several lanes, as a thread block has them.
#pragma once

#include <bit>
#include <memory>
#include <vector>

#include "data/rings/thread_coop.hpp"
#include "operators/device/block_group.hpp"

namespace crossdock::operators {

struct WarpedThreads {
  WarpedThreads(uint32_t threads, uint32_t lanes_of_warp) : all(threads), lanes(lanes_of_warp) {
    for (uint32_t warp = 0; warp < threads / lanes; ++warp)
      warps.push_back(std::make_unique<rings::ThreadGroup>(lanes));
  }
  rings::ThreadGroup all;
  uint32_t lanes;
  std::vector<std::unique_ptr<rings::ThreadGroup>> warps;
};

class WarpedGroup : public rings::ThreadCoop {
 public:
  WarpedGroup(WarpedThreads& threads, uint32_t rank)
      : rings::ThreadCoop(threads.all, rank),
        lanes_(threads.lanes),
        thread_group_(threads.warps[rank / threads.lanes].get()) {}

  uint32_t lane() const { return rank() % lanes_; }
  uint32_t lanes() const { return lanes_; }
  uint32_t warp() const { return rank() / lanes_; }
  uint32_t ones(uint32_t bits) const { return static_cast<uint32_t>(std::popcount(bits)); }
  void warp_sync() const { thread_group_->arrive.arrive_and_wait(); }

  uint32_t match(uint32_t value) const {
    uint32_t same = 0;
    show(value);
    for (uint32_t lane = 0; lane < lanes_; ++lane)
      same |= uint32_t{thread_group_->values[lane] == value} << lane;
    warp_sync();
    return same;
  }
  uint64_t warp_prefix(uint64_t value) const {
    uint64_t before = 0;
    show(value);
    for (uint32_t lower = 0; lower < lane(); ++lower) before += thread_group_->values[lower];
    warp_sync();
    return before;
  }

 private:
  void show(uint64_t value) const {
    thread_group_->values[lane()] = value;
    warp_sync();
  }

  uint32_t lanes_;
  rings::ThreadGroup* thread_group_;
};
static_assert(BlockGroup<WarpedGroup>);

}  // namespace crossdock::operators
