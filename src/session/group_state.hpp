// What stands behind the public group and its channels.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/channels/data_plane.hpp"
#include "data/ranks/rank_group.hpp"
#include "session/bulk_group.hpp"
#include "session/state.hpp"

namespace crossdock {

struct Group::State {
  std::shared_ptr<Engine::State> engine;
  std::shared_ptr<ranks::RankGroup> ranks;  // null: a process alone
  // Ends before the ranks do, which it talks to.
  std::shared_ptr<channels::DataPlane> plane{};
  BulkRanks bulk{};
  uint64_t next_channel_id = 1;  // the same in all ranks, since all make the same channels
};

struct RowChannel::State {
  std::shared_ptr<Group::State> group;
  std::shared_ptr<channels::Channel> channel;
  std::vector<int> own_sources{};
  std::vector<int> own_destinations{};
  std::atomic<int64_t> refused{
      0};  // sends that were not offered to the channel, since it had no room
};

}  // namespace crossdock
