// A ring: a bounded circle of segments between one stage and the next, as a plain value that producers, consumer and
// kernels share. It owns nothing; the memory, which may be of several kinds (words that the host polls in pinned
// memory, segments on the device), belongs to who makes the ring.
//
// Who writes what: `tail`, `words` and `ready` the producers, `head` the consumer, `lock` those who take turns as the
// consumer. No word has writers on two devices, so no read-modify-write ever crosses a link. Each word has a line of
// 128 bytes to itself (two sectors that prefetchers fetch together). Bounds: 2^slot_bits segments of rows_max rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/rings/annotations.hpp"
#include "data/rings/segment_header.hpp"

namespace crossdock::rings {

inline constexpr uint64_t kRingLineBytes = 128;
inline constexpr uint64_t kRingLineWords = kRingLineBytes / sizeof(uint64_t);

struct RingShape {
  int slot_bits = 0;           // 2^slot_bits segments; 0 is a ring of one
  uint32_t rows_max = 0;       // of a segment
  uint32_t segment_bytes = 0;  // header included; a multiple of 64
  // Bytes of a segment from the header's end to here are cleared when it is opened.
  uint32_t bitmaps_end = 0;
  uint32_t heap_bytes = 0;  // of a segment, at its end; a multiple of kHeapUnitBytes
};

struct Ring {
  RingShape shape;
  // Segments ever opened; the last of them is the one that producers fill.
  uint64_t* tail = nullptr;
  uint64_t* words = nullptr;  // per slot, a line each: SegmentWord
  uint64_t* ready = nullptr;  // per slot, a line each: the generation that was published last
  uint64_t* head = nullptr;   // segments ever recycled
  // The same for producers on another device, or null: so that the consumer looks at a head that is near to it.
  uint64_t* head_mirror = nullptr;
  uint64_t* lock = nullptr;  // 1 while a group acts as the consumer
  std::byte* segments = nullptr;

  CD_HOST_DEVICE uint64_t slots() const { return uint64_t{1} << shape.slot_bits; }
  CD_HOST_DEVICE uint64_t slot_of(uint64_t position) const { return position & (slots() - 1); }
  CD_HOST_DEVICE uint64_t& word(uint64_t slot) const { return words[slot * kRingLineWords]; }
  CD_HOST_DEVICE uint64_t& ready_word(uint64_t slot) const { return ready[slot * kRingLineWords]; }
  CD_HOST_DEVICE std::byte* segment(uint64_t slot) const {
    return segments + slot * shape.segment_bytes;
  }
  CD_HOST_DEVICE SegmentHeader& header(uint64_t slot) const {
    return *reinterpret_cast<SegmentHeader*>(segment(slot));
  }
};

}  // namespace crossdock::rings
