// Ranks of a test as a group, and what one of them does with a channel.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "data/channels/channel.hpp"
#include "data/ranks/rank_group.hpp"
#include "data/transports/forked_ranks.hpp"
#include "memory/budget.hpp"

namespace crossdock::channels {

// The board of forked processes as a group.
class BoardGroup : public ranks::RankGroup {
 public:
  BoardGroup(int rank, int size, transports::ForkedRanks::Meeting& meeting)
      : rank_(rank), size_(size), meeting_(meeting) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Result<std::vector<std::string>> gather(const std::string& mine,
                                          std::chrono::milliseconds) override {
    return meeting_.gather(mine);
  }

 private:
  int rank_;
  int size_;
  transports::ForkedRanks::Meeting& meeting_;
};

// Keys of 8 bytes; endpoint i is source and destination i, on rank ranks[i].
ChannelSpec endpoints_on(const std::vector<int>& ranks);

struct Tally {
  int64_t rows = 0;
  uint64_t key_sum = 0;
  bool operator==(const Tally&) const = default;
};

// All of one endpoint: sends `batches` of 1,000 keys each (number, number + 1, …), takes in between, flushes, takes to
// the end. batches < 0: without end.
Status use_endpoint(Channel& channel, int endpoint, int batches, Tally& taken);
// What destination `endpoint` of a routed channel gets from `sources` that send `batches` each.
Tally expected_tally(int sources, int destinations, int endpoint, int batches, bool is_broadcast);

// What /proc/self/fd leads to: "socket", "anon_inode:[eventfd]", …
std::multiset<std::string> open_descriptors();

// The thread of the plane may be looking at a channel as it goes, which gives its memory back a moment later then.
inline bool is_given_back(const Memory& memory) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (memory.used_bytes() > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return memory.used_bytes() == 0;
}

}  // namespace crossdock::channels
