// The state of a ring as text, for errors of runs that got stuck and for people who watch.
#pragma once

#include <cstdint>
#include <string>

#include "data/rings/ring.hpp"

namespace crossdock::rings {

// The widths of a segment word, for rings that were compiled with other ones.
struct WordWidths {
  int generation_bits = 3;
  int heap_bits = 24;
  int row_bits = 18;
};

// "tail 3 head 1 lock 0 | slot 0: open gen 2 heap 9 reserved 5 committed 4 ready 1 | …", from the oldest
// segment on; the heap in units. Reads every word once, relaxed: of a ring in use it is a blurred picture. Prints 16
// slots and says how many it left out.
std::string ring_state(const Ring& ring, const WordWidths& widths = {});

// How many segments were ever recycled, and ever published, in order: those ahead of a gap do not count. For counters;
// a ring in use may be further by the time of the answer. Costs a load per segment that lies in the ring.
struct RingProgress {
  uint64_t recycled = 0;
  uint64_t published = 0;
};
RingProgress ring_progress(const Ring& ring);

}  // namespace crossdock::rings
