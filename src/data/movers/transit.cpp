// Store and forward.
#include "data/movers/transit.hpp"

#include <algorithm>
#include <numeric>

#include "base/check.hpp"

namespace crossdock::movers {

Transit::Transit(size_t links, int frames_per_link, uint32_t bytes_max)
    : frames_per_link_(frames_per_link), bytes_max_(bytes_max), held_(links, 0) {}

std::byte* Transit::place(transports::LinkIndex link, const rings::SegmentHeader& header) {
  if (held_[link] >= frames_per_link_ || header.bytes > bytes_max_) return nullptr;
  auto frame = std::make_unique<TransitFrame>();
  frame->header = header;
  frame->from = link;
  // One byte at least, so that the place of an empty frame has an address of its own.
  frame->payload = std::make_unique_for_overwrite<std::byte[]>(std::max<uint32_t>(header.bytes, 1));
  ++held_[link];
  arriving_.push_back(std::move(frame));
  return arriving_.back()->payload.get();
}

bool Transit::placed(transports::LinkIndex link, const std::byte* payload, uint32_t checksum) {
  const auto entry = std::ranges::find_if(arriving_, [&](const auto& frame) {
    return frame->from == link && frame->payload.get() == payload;
  });
  if (entry == arriving_.end()) return false;
  std::unique_ptr<TransitFrame> frame = std::move(*entry);
  arriving_.erase(entry);
  frame->header.checksum = checksum;
  ++frame->header.hop;
  waiting_[frame->header.to_rank].push_back(std::move(frame));
  return true;
}

void Transit::lost(transports::LinkIndex link) {
  const auto is_from = [&](const auto& frame) { return frame->from == link; };
  held_[link] -= static_cast<int>(std::ranges::count_if(arriving_, is_from));
  std::erase_if(arriving_, is_from);
}

std::unique_ptr<TransitFrame> Transit::take(transports::PeerIndex to) {
  const auto queue = waiting_.find(to);
  CD_CHECK(queue != waiting_.end(), "nothing waits for rank {}", to);
  std::unique_ptr<TransitFrame> frame = std::move(queue->second.front());
  queue->second.pop_front();
  if (queue->second.empty()) waiting_.erase(queue);
  return frame;
}

void Transit::release(std::unique_ptr<TransitFrame> frame) { --held_[frame->from]; }

int Transit::held() const { return std::accumulate(held_.begin(), held_.end(), 0); }

}  // namespace crossdock::movers
