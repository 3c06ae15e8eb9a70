#include "data/channels/flow_taker.hpp"

#include "base/check.hpp"

namespace crossdock::channels {

FlowTaker::FlowTaker(const rings::Ring& ring, int cursors)
    : ring_(ring),
      cursors_(cursors),
      consumer_(ring),
      next_(static_cast<size_t>(cursors)),
      held_at_(ring.slots(), cursors) {}

FlowTaker::Taken FlowTaker::take(int cursor) {
  std::atomic<uint64_t>& next = next_[static_cast<size_t>(cursor)];
  using Ready = rings::StdAtomic<uint64_t, rings::CpuRingTraits::kHandOver>;
  // Polls without the mutex: most flows are empty when there are many. A word of the lap before or after this one is
  // looked at again under the mutex.
  const uint64_t guess = next.load(std::memory_order_relaxed);
  const uint64_t generation =
      rings::CpuRingTraits::Word::generation_at(guess, ring_.shape.slot_bits);
  if (Ready(ring_.ready_word(ring_.slot_of(guess))).load(rings::Relaxed{}) != generation) return {};

  const std::lock_guard lock(mutex_);
  const uint64_t position = next.load(std::memory_order_relaxed);
  const std::byte* segment = consumer_.front(position - head_);
  if (segment == nullptr) return {};
  next.store(position + 1, std::memory_order_relaxed);
  return {segment, position};
}

bool FlowTaker::give_back(uint64_t position) {
  const std::lock_guard lock(mutex_);
  int& held = held_at_[ring_.slot_of(position)];
  CD_CHECK(held > 0 && position >= head_, "segment {} given back twice", position);
  --held;
  uint64_t free = 0;
  while (free < ring_.slots() && held_at_[ring_.slot_of(head_)] == 0) {
    held_at_[ring_.slot_of(head_)] = cursors_;
    ++head_;
    ++free;
  }
  if (free == 0) return false;
  consumer_.recycle(free);
  return true;
}

}  // namespace crossdock::channels
