// A network at the level of chunks: each waits for its turn on one link after the other. It checks the flow level
// (fair_network.hpp) on small worlds, and carries the frames of real movers (sim/stepped).
//
// Chunks of a lane cross a link in their order, and lanes take turns: as a router that queues fairly (Nagle, RFC 970).
// A chunk is on its way to the next link while its end is still on this one (cut-through), so a path takes the time of
// its narrowest link once, and the latencies of all. Cost: two events for each link of a path. Deterministic; not
// thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/fair_network.hpp"
#include "sim/virtual_clock.hpp"

namespace crossdock::sim {

using LinkPath = std::shared_ptr<const std::vector<LinkNumber>>;

struct Chunk {
  uint64_t lane = 0;
  LinkPath path;
  double bytes = 0;
  uint64_t token = 0;  // of who sent it
};

class ChunkNetwork {
 public:
  explicit ChunkNetwork(VirtualClock& clock) : clock_(clock) {}

  // Called with a chunk's token when its last byte has left the first link, and when it has arrived; a chunk that a
  // link of no rate had, or gets, does neither.
  void on_left(std::function<void(uint64_t token)> left) { left_ = std::move(left); }
  void on_arrived(std::function<void(uint64_t token)> arrived) { arrived_ = std::move(arrived); }

  LinkNumber add_link(const LinkRate& rate);
  // From the next chunk on; 0: what is there is lost.
  void set_link(LinkNumber link, double bytes_per_s);
  // A path of no links: it arrives at once.
  void send(Chunk chunk);

  double latency_of(const std::vector<LinkNumber>& path) const;
  double carried_bytes(LinkNumber link) const { return links_[link].carried_bytes; }
  int link_count() const { return static_cast<int>(links_.size()); }

 private:
  struct Moving {
    Chunk chunk;
    size_t place = 0;  // on its path
    double end_s = 0;  // when its last byte can be here
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  // Places in a pool: a queue of its own for each lane would be made and dropped all the time.
  struct Waiting {
    Moving moving;
    uint32_t next = kNone;
  };
  struct Lane {
    uint32_t first = kNone;
    uint32_t last = kNone;
  };
  struct Link {
    LinkRate rate;
    std::unordered_map<uint64_t, Lane> lanes;  // that have chunks
    std::deque<uint64_t> turns;
    bool is_busy = false;
    double carried_bytes = 0;
  };

  void arrive(Moving moving);
  void serve(LinkNumber link);
  uint32_t keep(Moving moving);
  Moving take(uint32_t place);

  VirtualClock& clock_;
  std::function<void(uint64_t)> left_ = [](uint64_t) {};
  std::function<void(uint64_t)> arrived_ = [](uint64_t) {};
  std::vector<Link> links_;
  std::vector<Waiting> pool_;
  std::vector<uint32_t> free_;  // places of the pool
};

}  // namespace crossdock::sim
