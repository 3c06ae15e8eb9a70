// Places the words and segments of a ring in one block of memory.
#include "data/rings/place_ring.hpp"

#include "data/rings/ring_traits.hpp"

namespace crossdock::rings {
namespace {

constexpr uint64_t kCounters = 3;  // tail, head, lock

uint64_t control_bytes(const RingShape& shape) {
  const uint64_t slots = uint64_t{1} << shape.slot_bits;
  return (kCounters + 2 * slots) * kRingLineBytes;
}

}  // namespace

Result<RingShape> make_ring_shape(const SegmentLayout& layout, int slot_bits) {
  if (slot_bits < 0 || slot_bits > kRingSlotBitsMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a ring of 2^{} segments is wanted; the exponent is from 0 to {}",
                      slot_bits,
                      kRingSlotBitsMax);
  }
  if (layout.rows_max > RingDefaults::Word::kRowsMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "segments of {} rows are wanted, and a ring counts up to {}; ask for fewer "
                      "rows per segment",
                      layout.rows_max,
                      RingDefaults::Word::kRowsMax);
  }
  constexpr uint64_t kHeapBytesMax = RingDefaults::Word::kHeapUnitsMax * kHeapUnitBytes;
  if (layout.heap_bytes > kHeapBytesMax) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "segments with {} bytes of strings are wanted, and a ring counts up to {}; ask "
        "for a smaller heap per segment",
        layout.heap_bytes,
        kHeapBytesMax);
  }
  return RingShape{.slot_bits = slot_bits,
                   .rows_max = layout.rows_max,
                   .segment_bytes = static_cast<uint32_t>(layout.bytes),
                   .bitmaps_end = layout.bitmaps_end,
                   .heap_bytes = layout.heap_bytes};
}

uint64_t ring_bytes(const RingShape& shape) {
  return control_bytes(shape) + (uint64_t{shape.segment_bytes} << shape.slot_bits);
}

Result<Ring> place_ring(const RingShape& shape, std::span<std::byte> memory) {
  if (memory.size() < ring_bytes(shape)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a ring needs {} bytes and got {}; ask ring_bytes for the size of its memory",
                      ring_bytes(shape),
                      memory.size());
  }
  const auto askew = reinterpret_cast<uintptr_t>(memory.data()) % kRingLineBytes;
  if (askew != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a ring's memory lies {} bytes behind a boundary of {}; align it",
                      askew,
                      kRingLineBytes);
  }
  auto* line = reinterpret_cast<uint64_t*>(memory.data());
  const auto take = [&line](uint64_t lines) {
    uint64_t* at = line;
    line += lines * kRingLineWords;
    return at;
  };
  Ring ring;
  ring.shape = shape;
  ring.tail = take(1);
  ring.head = take(1);
  ring.lock = take(1);
  ring.words = take(ring.slots());
  ring.ready = take(ring.slots());
  ring.segments = reinterpret_cast<std::byte*>(line);
  return ring;
}

}  // namespace crossdock::rings
