// The data plane of a process alone: channels are memory, and calls of those who use them. No threads, no descriptors.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "data/channels/channel_core.hpp"
#include "data/channels/data_plane.hpp"
#include "data/channels/rank_losses.hpp"
#include "memory/budget.hpp"

namespace crossdock::channels {

// Ids of the channels of a process that still are there, so that none is used twice at a time. Thread-safe.
class ChannelRegister {
 public:
  // CD-105 if a channel of this id is open, or held by a caller.
  Status add(const std::shared_ptr<ChannelCore>& core);
  std::shared_ptr<ChannelCore> find(uint64_t channel) const;
  // Those that are not over.
  std::vector<std::shared_ptr<ChannelCore>> open_ones() const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, std::weak_ptr<ChannelCore>> cores_;
};

// Where a part lies that no other process maps: in a block of the budget, which channels before it have used as a rule,
// so that its pages are there.
Result<PartMemory> own_part_memory(Memory& memory, uint64_t bytes, uint64_t channel);

// A core whose flows lie in a block of the budget. CD-201 before anything is taken.
Result<std::shared_ptr<ChannelCore>> make_single_core(Memory& memory,
                                                      std::shared_ptr<const ChannelLayout> plan);

class SinglePlane : public DataPlane {
 public:
  explicit SinglePlane(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}

  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  std::vector<int> host_of_rank() const override { return {0}; }
  Result<std::shared_ptr<Channel>> create_channel(const ChannelSpec& spec) override {
    return open_part(spec);
  }
  Result<std::shared_ptr<Channel>> open_part(const ChannelSpec& spec) override;
  void abort(const std::string& reason) override;

 private:
  std::shared_ptr<Memory> memory_;
  ChannelRegister channels_;
  RankLosses losses_;
};

}  // namespace crossdock::channels
