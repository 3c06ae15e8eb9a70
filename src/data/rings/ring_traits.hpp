// What a ring is compiled for: atomics, scopes, the widths of the segment word, and the order of every access.
//
// Rings are templates over one Traits type that has all of these. RingDefaults are the protocol; CpuRingTraits add the
// memory of CPU threads (cpu_ring_traits.hpp), CudaRingTraits that of kernels (atomic_cuda.cuh), and tests add a memory
// that shows every permitted outcome, or change one order to see that it is missed.
#pragma once

#include "data/rings/atomic.hpp"
#include "data/rings/segment_word.hpp"

namespace crossdock::rings {

// docs/concept-rings.md says for each order why it is enough and what breaks without it.
struct RingOrders {
  using ReadTail = Acquire;       // any producer, before it looks at a segment's word
  using Open = Release;           // compare-exchange of the tail
  using Initialise = Release;     // store of an opened segment's word
  using Reserve = Acquire;        // compare-exchange of the word
  using Commit = AcquireRelease;  // addition to the word
  using Close = Acquire;          // compare-exchange of the word that sets `closed`
  using Publish = Release;        // store of a ready word
  using Poll = Acquire;           // load of a ready word
  using Recycle = Release;        // store of the head
  using ReadHead = Acquire;       // load of the head by producers
  using Lock = Acquire;           // exchange of the consumers' lock
  using Unlock = Release;         // store of the consumers' lock
};

struct RingDefaults {
  using Orders = RingOrders;
  using Word = SegmentWord<3, 24, 18>;
  static constexpr Scope kProducers = Scope::kDevice;  // among those who reserve
  static constexpr Scope kHandOver = Scope::kSystem;   // from producers to consumer and back
  static constexpr Scope kConsumers = Scope::kDevice;  // among those who take turns as the consumer
};

}  // namespace crossdock::rings
