// Takes segments out of a flow for any number of receivers of one process, and gives them back in whatever order they
// let them go.
//
// A flow has one cursor per destination that its outlet stands for: one, or for a broadcast all of the process, each of
// which sees every segment. The ring's head, which tells the source that there is room, moves on when the oldest
// segment has been given back at every cursor; so the slowest governs. Cursors are in the memory of the process, since
// no other thread reads them. Bounds: one word per slot and one per cursor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring.hpp"
#include "data/rings/ring_consumer.hpp"

namespace crossdock::channels {

// Thread-safe. The only consumer of its ring.
class FlowTaker {
 public:
  FlowTaker(const rings::Ring& ring, int cursors);

  struct Taken {
    const std::byte* segment = nullptr;  // null: nothing is there, or another thread took it
    uint64_t position = 0;               // its number in the flow
  };
  // The next published segment at a cursor; the caller's until given back. Costs a load if there is none.
  Taken take(int cursor);
  // Whether that makes room for the source.
  bool give_back(uint64_t position);

 private:
  const rings::Ring ring_;
  const int cursors_;
  rings::RingConsumer<rings::CpuRingTraits> consumer_;
  std::vector<std::atomic<uint64_t>> next_;  // per cursor; written under the mutex
  std::mutex mutex_;                         // guards the rest, and the ring's head
  uint64_t head_ = 0;
  std::vector<int> held_at_;  // per slot: cursors that have not given its segment back
};

}  // namespace crossdock::channels
