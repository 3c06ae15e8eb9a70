// A link serves one chunk at a time; where it goes next is arranged when its first byte leaves. Events hold no more
// than a place in the pool, so that a std::function needs no memory for them.
#include "sim/stepped/chunk_network.hpp"

#include <algorithm>
#include <utility>

namespace crossdock::sim {

LinkNumber ChunkNetwork::add_link(const LinkRate& rate) {
  CD_CHECK(rate.bytes_per_s >= 0, "a link of {} bytes/s", rate.bytes_per_s);
  links_.emplace_back().rate = rate;
  return static_cast<LinkNumber>(links_.size() - 1);
}

void ChunkNetwork::set_link(LinkNumber number, double bytes_per_s) {
  CD_CHECK(bytes_per_s >= 0, "a link of {} bytes/s", bytes_per_s);
  Link& link = links_[number];
  link.rate.bytes_per_s = bytes_per_s;
  if (bytes_per_s > 0) return;
  for (const auto& [name, lane] : link.lanes) {
    for (Place place = lane.first; place != kNone;) {
      release(std::exchange(place, pool_[place].next));
    }
  }
  link.lanes.clear();
  link.turns.clear();
}

void ChunkNetwork::send(const Chunk& chunk) {
  if (chunk.path.size() > 0) return arrive(keep(chunk));
  clock_.at(clock_.now_s(), [this, token = chunk.token] {
    left_(token);
    arrived_(token);
  });
}

ChunkNetwork::Place ChunkNetwork::keep(const Chunk& chunk) {
  if (free_.empty()) {
    free_.push_back(static_cast<Place>(pool_.size()));
    pool_.emplace_back();
  }
  const Place place = free_.back();
  free_.pop_back();
  Moving& moving = pool_[place];
  moving.chunk = chunk;
  moving.at = 0;
  moving.end_s = clock_.now_s();
  return place;
}

void ChunkNetwork::release(Place place) {
  ++pool_[place].life;
  free_.push_back(place);
}

void ChunkNetwork::arrive(Place place) {
  Moving& moving = pool_[place];
  const LinkNumber number = link_of(moving);
  Link& link = links_[number];
  if (link.rate.bytes_per_s <= 0) return release(place);
  if (link.turns.empty() && clock_.now_s() >= link.free_s) return serve(link, place);
  Lane& lane = link.lanes[moving.chunk.lane];
  if (lane.first == kNone) link.turns.push_back(moving.chunk.lane);
  (lane.first == kNone ? lane.first : pool_[lane.last].next) = place;
  lane.last = place;
  moving.next = kNone;
  wait_for(number);
}

void ChunkNetwork::wait_for(LinkNumber number) {
  Link& link = links_[number];
  if (link.is_awaited) return;
  link.is_awaited = true;
  clock_.at(link.free_s, [this, number] { serve_next(number); });
}

void ChunkNetwork::serve_next(LinkNumber number) {
  Link& link = links_[number];
  link.is_awaited = false;
  if (link.turns.empty()) return;
  const uint64_t lane = link.turns.front();
  link.turns.pop_front();
  const auto queue = link.lanes.find(lane);
  const Place place = queue->second.first;
  queue->second.first = pool_[place].next;
  if (queue->second.first == kNone) {
    link.lanes.erase(queue);
  } else {
    link.turns.push_back(lane);
  }
  serve(link, place);
  if (!link.turns.empty()) wait_for(number);
}

void ChunkNetwork::serve(Link& link, Place place) {
  Moving& moving = pool_[place];
  const double now_s = clock_.now_s();
  link.free_s = now_s + (moving.chunk.bytes + link.rate.message_bytes) / link.rate.bytes_per_s;
  link.carried_bytes += moving.chunk.bytes;
  if (moving.at == 0)
    clock_.at(link.free_s, [this, place, life = moving.life] { left(place, life); });
  // What is still on its way here cannot have left.
  moving.end_s = std::max(moving.end_s, link.free_s) + link.rate.latency_s;
  if (moving.at + 1 == moving.chunk.path.size()) {
    clock_.at(moving.end_s, [this, place] { finish(place); });
    return;
  }
  ++moving.at;
  clock_.at(now_s + link.rate.latency_s, [this, place] { arrive(place); });
}

void ChunkNetwork::left(Place place, uint32_t life) {
  const Moving& moving = pool_[place];
  if (moving.life == life && links_[moving.chunk.path[0]].rate.bytes_per_s > 0)
    left_(moving.chunk.token);
}

void ChunkNetwork::finish(Place place) {
  const uint64_t token = pool_[place].chunk.token;
  const bool is_there = links_[link_of(pool_[place])].rate.bytes_per_s > 0;
  release(place);
  if (is_there) arrived_(token);
}

}  // namespace crossdock::sim
