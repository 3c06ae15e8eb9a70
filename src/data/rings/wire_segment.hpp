// Segments that go over wires: stamped before they leave, and not believed when they arrive.
//
// A header from a wire is bytes of another process: check_header looks at every field against the receiver's own limits
// before any of them is used as an index or a length, and check_payload at the checksum when the rest is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "data/rings/segment_header.hpp"

namespace crossdock::rings {

// What a receiver is prepared for. Counts are exclusive bounds, the rest is inclusive.
struct SegmentLimits {
  uint32_t sources = 0;
  uint32_t outlets = 0;
  uint32_t ranks = 0;
  uint32_t hops = 0;
  uint32_t codecs = 1;
  uint64_t rows_max = 0;
  uint64_t heap_bytes_max = 0;
  uint64_t raw_bytes_max = 0;
};

// Fills in the magic, the payload's length and the checksum of a header whose other fields are final. The hop is not
// summed: processes in the middle count it up.
void stamp(SegmentHeader& header, std::span<const std::byte> payload);

// Whether a header that a wire delivered holds to its limits; else CD-613 with the field, its value and the limit. Any
// bytes are safe.
Status check_header(const SegmentHeader& header, const SegmentLimits& limits);
// Whether this is the payload that the header was stamped with: its length, and the checksum of both.
Status check_payload(const SegmentHeader& header, std::span<const std::byte> payload);

// The same in two steps, of which the first copies header.bytes bytes to where they stay, and answers the checksum of
// the header and of them; they are read once.
uint32_t copy_payload(const SegmentHeader& header,
                      std::span<const std::byte> payload,
                      std::byte* to);
// The checksum of a header alone, from which crc32c() goes on with the payload, piece by piece.
uint32_t begin_checksum(const SegmentHeader& header);
Status check_checksum(const SegmentHeader& header, uint32_t checksum);

}  // namespace crossdock::rings
