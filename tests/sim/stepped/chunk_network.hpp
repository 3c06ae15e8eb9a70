// A network at the level of chunks: each waits for its turn on one link after the other. It checks the flow level
// (fair_network.hpp) on small worlds, and carries the frames of real movers (sim/stepped).
//
// Chunks of a lane cross a link in their order, and lanes take turns: as a router that queues fairly (Nagle, RFC 970).
// A chunk is on its way to the next link while its end is still on this one (cut-through), so a path takes the time of
// its narrowest link once, and the latencies of all. Cost: an event for each link of a path, and one more where a chunk
// waits. Deterministic; not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "base/check.hpp"
#include "sim/fair_network.hpp"
#include "sim/virtual_clock.hpp"

namespace crossdock::sim {

// Links one after the other: so few that a chunk holds them itself, which is nearer than memory of their own.
class LinkPath {
 public:
  static constexpr size_t kLinksMax = 14;

  void add(LinkNumber link) {
    CD_CHECK(size_ < kLinksMax, "a path of more than {} links", kLinksMax);
    links_[size_++] = link;
  }
  LinkNumber operator[](size_t place) const { return links_[place]; }
  size_t size() const { return size_; }

 private:
  std::array<LinkNumber, kLinksMax> links_{};
  uint32_t size_ = 0;
};

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
  void send(const Chunk& chunk);

  double latency_s(LinkNumber link) const { return links_[link].rate.latency_s; }
  double carried_bytes(LinkNumber link) const { return links_[link].carried_bytes; }
  int link_count() const { return static_cast<int>(links_.size()); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  using Place = uint32_t;  // in the pool
  struct Moving {
    Chunk chunk;
    uint32_t at = 0;     // which link of its path
    uint32_t life = 0;   // of the place: what was arranged for a chunk that is gone does not happen
    Place next = kNone;  // of its lane, while it waits
    double end_s = 0;    // when its last byte can be here
  };
  struct Lane {
    Place first = kNone;
    Place last = kNone;
  };
  struct Link {
    LinkRate rate;
    std::unordered_map<uint64_t, Lane> lanes;  // that wait
    std::deque<uint64_t> turns;
    double free_s = 0;
    bool is_awaited = false;  // there is an event for when it is free
    double carried_bytes = 0;
  };

  LinkNumber link_of(const Moving& moving) const { return moving.chunk.path[moving.at]; }
  void arrive(Place place);
  void serve(Link& link, Place place);
  void wait_for(LinkNumber link);
  void serve_next(LinkNumber link);
  void left(Place place, uint32_t life);
  void finish(Place place);
  Place keep(const Chunk& chunk);
  void release(Place place);

  VirtualClock& clock_;
  std::function<void(uint64_t)> left_ = [](uint64_t) {};
  std::function<void(uint64_t)> arrived_ = [](uint64_t) {};
  std::vector<Link> links_;
  std::vector<Moving> pool_;
  std::vector<Place> free_;  // places of the pool
};

}  // namespace crossdock::sim
