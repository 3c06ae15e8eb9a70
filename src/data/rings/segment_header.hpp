// The first 64 bytes of every segment: what it is, whose it is and how much of it there is.
//
// Inside a process the header is trusted; one that came over a wire is bytes of another process (wire_segment.hpp).
#pragma once

#include <cstdint>
#include <type_traits>

namespace crossdock::rings {

// Little-endian on wires, as in memory on every machine that Crossdock runs on.
struct SegmentHeader {
  uint32_t magic = 0;   // kSegmentMagic; says the version too
  uint16_t source = 0;  // of the channel's sources, whose rows these are
  uint16_t outlet = 0;  // of the source's outlets: the destination, or for a broadcast the process
  uint16_t from_rank = 0;  // the process that has the source
  // The process that has the outlet; a process in the middle passes the segment on.
  uint16_t to_rank = 0;
  uint8_t hop = 0;        // links that the segment has passed
  uint8_t spare = 0;      // 0
  uint16_t flags = 0;     // bits of SegmentFlag
  uint64_t channel = 0;   // its id, never used twice
  uint64_t sequence = 0;  // which segment of its flow, from 0; grows by 1
  uint32_t rows = 0;
  uint32_t heap_bytes = 0;  // of the heap that are used, in whole units
  uint32_t bytes = 0;       // of the payload behind the header, as it travels
  uint32_t raw_bytes = 0;   // of the payload when it is decoded; equals `bytes` with codec 0
  uint32_t checksum = 0;    // CRC-32C of the header with this field and `hop` 0, and of the payload
  uint16_t codec = 0;       // 0: as it is
  uint16_t spare_16 = 0;    // 0
  uint64_t spare_64 = 0;    // 0
};
static_assert(sizeof(SegmentHeader) == 64 && std::is_trivially_copyable_v<SegmentHeader>);

// Heaps are given out in units of this many bytes, so that a segment's word can count them.
inline constexpr uint32_t kHeapUnitBytes = 16;

inline constexpr uint32_t kSegmentMagic = 0x3153'4458;  // "XDS1"
enum SegmentFlag : uint16_t {
  kPacked =
      1,  // not full: lanes lie as in a segment of `rows` rows and `heap_bytes` of heap (RowLayout::packed)
};
inline constexpr uint16_t kSegmentFlags = kPacked;

}  // namespace crossdock::rings
