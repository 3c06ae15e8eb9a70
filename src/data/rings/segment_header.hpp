// The first 64 bytes of every segment: what it is, whose it is and how much of it there is.
//
// Inside a process the header is trusted; one that came over a wire is bytes from somebody else (wire_segment.hpp).
#pragma once

#include <cstdint>
#include <type_traits>

namespace crossdock {

// Little-endian on wires, as in memory on every machine that Crossdock runs on.
struct SegmentHeader {
  uint32_t magic = 0;        // kSegmentMagic; says the version too
  uint16_t channel = 0;      // id of the channel
  uint16_t source = 0;       // id of the endpoint that sent the rows
  uint16_t destination = 0;  // id of the endpoint that gets them, or kManyDestinations
  uint8_t virtual_channel =
      0;            // who may wait for whom: rows of hop h travel on channels of their own
  uint8_t hop = 0;  // links that the segment has passed
  uint32_t rows = 0;
  uint64_t sequence = 0;   // which segment of its ring, from 0; grows by 1
  uint64_t bytes = 0;      // of the payload behind the header, as it travels
  uint64_t raw_bytes = 0;  // of the payload when it is decoded; equals `bytes` with codec 0
  uint16_t codec = 0;      // 0: as it is
  uint16_t flags = 0;      // bits of SegmentFlag
  uint32_t checksum = 0;   // CRC-32C of the header with this field 0, and of the payload
  uint64_t spare[2] = {};  // 0
};
static_assert(sizeof(SegmentHeader) == 64 && std::is_trivially_copyable_v<SegmentHeader>);

inline constexpr uint32_t kSegmentMagic = 0x3153'4458;  // "XDS1"
inline constexpr uint16_t kManyDestinations = 0xFFFF;  // the hidden lane of destinations says which
enum SegmentFlag : uint16_t { kLastOfSource = 1, kHasDestinations = 2 };
inline constexpr uint16_t kSegmentFlags = kLastOfSource | kHasDestinations;

}  // namespace crossdock
