// What the threads of a sorter share, and what it asks of a ring as a whole.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/device/device_node.hpp"
#include "data/rings/ring.hpp"
#include "data/rings/ring_producer.hpp"

namespace crossdock::device {

// Where rows of a tile go: a run of rows of one segment. Without initial values, since shared memory has none.
struct SorterRun {
  std::byte* segment;
  const rings::SegmentLayout* layout;
  uint32_t target;
  uint32_t slot;
  uint32_t first;
  uint32_t rows;

  CD_HOST_DEVICE rings::Ticket ticket() const { return {slot, first, rows, 0}; }
};

inline constexpr uint32_t kRunsPerTile =
    2;  // of a destination: the end of one segment and the begin of the next

inline constexpr uint32_t kMadeRowsMax =
    2048;  // of a call that makes the rows it sends (made_rows.hpp)

// Shared by a group; about 34 KiB, which is shared memory in a kernel.
struct SorterScratch {
  uint32_t counts[kDeviceDestinationsMax];
  uint32_t placed[kDeviceDestinationsMax];
  uint32_t starts[kDeviceDestinationsMax];
  SorterRun runs[kRunsPerTile][kDeviceDestinationsMax];
  uint16_t ranks[kDeviceTileRows];
  uint16_t order[kDeviceTileRows];
  uint8_t destination_at[kDeviceTileRows];
  uint8_t blocked[kDeviceDestinationsMax];
  uint8_t ready[kDeviceInputsMax];
  uint32_t kept[kMadeRowsMax / 32];  // a bit per row
  uint32_t kept_before[kMadeRowsMax / 32 + 1];
};
static_assert(kDeviceDestinationsMax <= 256, "destination_at has 8 bits");

struct alignas(16) LaneWord16 {
  uint64_t low;
  uint64_t high;
};

// Whether nothing that was published or begun is left in a ring; by one thread. All who produce have sealed.
template <class Traits>
CD_HOST_DEVICE bool is_drained(const rings::Ring& ring) {
  using Shared = typename Traits::template Atomic<uint64_t, Traits::kProducers>;
  using HandOver = typename Traits::template Atomic<uint64_t, Traits::kHandOver>;
  using Word = typename Traits::Word;
  uint64_t opened = Shared(*ring.tail).load(rings::Acquire{});
  if (opened == 0) return true;
  const uint64_t word = Shared(ring.word(ring.slot_of(opened - 1))).load(rings::Relaxed{});
  // A segment that was opened and got no row never leaves.
  const bool is_fresh =
      Word::generation(word) == Word::generation_at(opened - 1, ring.shape.slot_bits);
  if (is_fresh && !Word::is_closed(word) && Word::reserved(word) == 0) --opened;
  return HandOver(*ring.head).load(rings::Acquire{}) >= opened;
}

}  // namespace crossdock::device
