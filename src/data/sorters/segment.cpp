// Segments out of large blocks, so that neighbours share huge pages.
#include "data/sorters/segment.hpp"

#include <algorithm>
#include <new>

namespace crossdock::sorters {
namespace {

constexpr int64_t kBlockBytesMin = int64_t{64} << 10;
constexpr int64_t kBlockBytesMax = int64_t{8} << 20;

}  // namespace

// Blocks double from 64 KiB to 8 MiB: small joins stay small, large ones make few system calls.
Result<Segment*> SegmentPool::get() {
  if (blocks_.empty() || used_bytes_ + segment_bytes() > blocks_.back().bytes()) {
    const int64_t doubled = blocks_.empty() ? kBlockBytesMin : blocks_.back().bytes() * 2;
    const int64_t bytes = std::max(segment_bytes(), std::min(doubled, kBlockBytesMax));
    CD_ASSIGN(Block block, memory_->get(bytes, who_));
    blocks_.push_back(std::move(block));
    used_bytes_ = 0;
  }
  auto* segment = new (blocks_.back().data() + used_bytes_) Segment;
  segment->capacity_rows = capacity_rows_;
  segment->carried_lanes = carried_lanes_;
  segment->has_carry = carried_lanes_ > 0;
  used_bytes_ += segment_bytes();
  return segment;
}

}  // namespace crossdock::sorters
