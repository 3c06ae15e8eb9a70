#include "data/movers/outgoing_frame.hpp"

#include "base/check.hpp"
#include "data/rings/wire_segment.hpp"
#include "data/segments/segment_rows.hpp"

namespace crossdock::movers {
namespace {

const rings::SegmentHeader& header_of(const std::byte* segment) {
  return *reinterpret_cast<const rings::SegmentHeader*>(segment);
}

// A segment that is nearly full travels as it lies: packing copies all of it to save little.
bool is_worth_packing(uint64_t packed_bytes, uint64_t whole_bytes) {
  return packed_bytes + packed_bytes / 8 < whole_bytes;
}

// Header included.
uint64_t packed_bytes(const segments::RowLayout& layout, const std::byte* segment) {
  const rings::SegmentHeader& header = header_of(segment);
  const rings::SegmentLayout& whole = layout.segments();
  if (header.rows == whole.rows_max && header.heap_bytes == whole.heap_bytes) return whole.bytes;
  return layout.packed(header.rows, header.heap_bytes).bytes;
}

}  // namespace

uint64_t frame_bytes(const segments::RowLayout& layout,
                     const std::byte* segment,
                     const rings::RingShape& shape) {
  const uint64_t packed = packed_bytes(layout, segment);
  const uint64_t whole = layout.segments().bytes;
  CD_CHECK(whole <= shape.segment_bytes, "{} of {} bytes", whole, shape.segment_bytes);
  return (is_worth_packing(packed, whole) ? packed : whole) - sizeof(rings::SegmentHeader);
}

std::span<const std::byte> fill_frame(FrameUnderWay& frame,
                                      const OutgoingFlow& flow,
                                      uint64_t sequence) {
  const MovedFlow& moved = flow.moved();
  const std::byte* segment = flow.segment(sequence);
  const rings::SegmentHeader& sent = header_of(segment);
  rings::SegmentHeader& header = frame.header;
  header = {};
  header.source = moved.id.source;
  header.outlet = moved.id.outlet;
  header.to_rank = static_cast<uint16_t>(moved.peer);
  header.channel = moved.id.channel;
  header.sequence = sequence;
  header.rows = sent.rows;
  header.heap_bytes = sent.heap_bytes;
  const uint64_t whole = moved.layout->segments().bytes;
  const uint64_t packed = packed_bytes(*moved.layout, segment);
  if (!is_worth_packing(packed, whole)) {
    header.raw_bytes = static_cast<uint32_t>(whole - sizeof(header));
    return {segment + sizeof(header), whole - sizeof(header)};
  }
  if (frame.packed_bytes < whole) {
    frame.packed = std::make_unique_for_overwrite<std::byte[]>(whole);
    frame.packed_bytes = whole;
  }
  const uint64_t bytes = segments::pack_segment(*moved.layout, segment, frame.packed.get());
  CD_CHECK(bytes == packed, "packed {} bytes, expected {}", bytes, packed);
  header.flags = rings::kPacked;
  header.raw_bytes = static_cast<uint32_t>(bytes - sizeof(header));
  return {frame.packed.get() + sizeof(header), bytes - sizeof(header)};
}

void finish_frame(rings::SegmentHeader& header,
                  std::span<const std::byte> payload,
                  bool has_checksum) {
  if (has_checksum) {
    rings::stamp(header, payload);
    return;
  }
  header.magic = rings::kSegmentMagic;
  header.bytes = static_cast<uint32_t>(payload.size());
}

}  // namespace crossdock::movers
