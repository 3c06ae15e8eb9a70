// Segments that go over wires: stamped before they leave, and not believed when they arrive.
//
// A header from a wire is bytes from somebody else: read_segment checks every field against the receiver's own limits
// before any of them is used as an index or a length, and then the checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "data/rings/segment_header.hpp"

namespace crossdock {

// What a receiver is prepared for. Counts are exclusive bounds.
struct SegmentLimits {
  uint32_t channels = 0;
  uint32_t endpoints = 0;
  uint32_t virtual_channels = 0;
  uint32_t hops = 0;
  uint32_t codecs = 1;
  uint64_t rows_max = 0;       // inclusive
  uint64_t raw_bytes_max = 0;  // inclusive
};

// Fills in the magic, the payload's length and the checksum of a header whose other fields are final.
void stamp(SegmentHeader& header, std::span<const std::byte> payload);

// The header at the front of bytes that a wire delivered, if it, its limits and its checksum hold; else CD-613 with the
// field, its value and the limit. On success header.bytes == bytes.size() - 64. Any bytes are safe.
Result<SegmentHeader> read_segment(std::span<const std::byte> bytes, const SegmentLimits& limits);

}  // namespace crossdock
