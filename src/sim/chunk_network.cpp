// A link serves one chunk at a time; where it goes next is arranged when its first byte leaves.
#include "sim/chunk_network.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

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
  for (const auto& [lane, queue] : link.lanes) {
    for (uint32_t place = queue.first; place != kNone; place = pool_[place].next) take(place);
  }
  link.lanes.clear();
  link.turns.clear();
}

double ChunkNetwork::latency_of(const std::vector<LinkNumber>& path) const {
  double sum = 0;
  for (const LinkNumber link : path) sum += links_[link].rate.latency_s;
  return sum;
}

void ChunkNetwork::send(Chunk chunk) {
  if (!chunk.path->empty()) return arrive({std::move(chunk), 0, clock_.now_s()});
  clock_.at(clock_.now_s(), [this, token = chunk.token] {
    left_(token);
    arrived_(token);
  });
}

void ChunkNetwork::arrive(Moving moving) {
  const LinkNumber number = (*moving.chunk.path)[moving.place];
  Link& link = links_[number];
  if (link.rate.bytes_per_s <= 0) return;
  Lane& lane = link.lanes[moving.chunk.lane];
  if (lane.first == kNone) link.turns.push_back(moving.chunk.lane);
  const uint32_t place = keep(std::move(moving));
  (lane.first == kNone ? lane.first : pool_[lane.last].next) = place;
  lane.last = place;
  if (!link.is_busy) serve(number);
}

uint32_t ChunkNetwork::keep(Moving moving) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(pool_.size()));
    pool_.emplace_back();
  }
  const uint32_t place = free_.back();
  free_.pop_back();
  pool_[place] = {std::move(moving), kNone};
  return place;
}

ChunkNetwork::Moving ChunkNetwork::take(uint32_t place) {
  free_.push_back(place);
  return std::move(pool_[place].moving);
}

void ChunkNetwork::serve(LinkNumber number) {
  Link& link = links_[number];
  link.is_busy = !link.turns.empty();
  if (!link.is_busy) return;
  const uint64_t lane = link.turns.front();
  link.turns.pop_front();
  const auto queue = link.lanes.find(lane);
  const uint32_t place = queue->second.first;
  queue->second.first = pool_[place].next;
  if (queue->second.first == kNone) {
    link.lanes.erase(queue);
  } else {
    link.turns.push_back(lane);
  }
  Moving moving = take(place);
  const double now_s = clock_.now_s();
  const double free_s =
      now_s + (moving.chunk.bytes + link.rate.message_bytes) / link.rate.bytes_per_s;
  link.carried_bytes += moving.chunk.bytes;
  const bool is_first = moving.place == 0;
  clock_.at(free_s, [this, number, is_first, token = moving.chunk.token] {
    if (is_first && links_[number].rate.bytes_per_s > 0) left_(token);
    serve(number);
  });
  // What is still on its way here cannot have left.
  moving.end_s = std::max(moving.end_s, free_s) + link.rate.latency_s;
  if (++moving.place == moving.chunk.path->size()) {
    clock_.at(moving.end_s, [this, number, token = moving.chunk.token] {
      if (links_[number].rate.bytes_per_s > 0) arrived_(token);
    });
    return;
  }
  clock_.at(now_s + link.rate.latency_s,
            [this, moving = std::move(moving)]() mutable { arrive(std::move(moving)); });
}

}  // namespace crossdock::sim
