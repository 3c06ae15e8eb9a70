// Shapes of rings, and rings in one block of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "data/rings/ring.hpp"
#include "data/rings/segment_layout.hpp"

namespace crossdock::rings {

inline constexpr int kRingSlotBitsMax = 20;

// The shape of a ring of segments of this layout. CD-105 if slot_bits, rows or heap are over their limits, with
// both.
Result<RingShape> make_ring_shape(const SegmentLayout& layout, int slot_bits);

// Bytes of a ring of one block of memory, and the ring in such a block: aligned to 128, cleared, and left alone while
// the ring lives. CD-105 if it is too small or askew. place_ring works in memory that several processes map.
uint64_t ring_bytes(const RingShape& shape);
Result<Ring> place_ring(const RingShape& shape, std::span<std::byte> memory);

}  // namespace crossdock::rings
