// Headers from wires: every field against its limit, then the checksum.
#include "data/rings/wire_segment.hpp"

#include <bit>

#include "data/rings/crc32c.hpp"

namespace crossdock::rings {
namespace {

static_assert(std::endian::native == std::endian::little, "headers are copied as they lie");

uint32_t checksum_of(const SegmentHeader& header) {
  SegmentHeader blank = header;
  blank.checksum = 0;
  blank.hop = 0;  // changes on the way; the rest is as it left the source
  return crc32c(std::as_bytes(std::span(&blank, 1)));
}

uint32_t checksum_of(const SegmentHeader& header, std::span<const std::byte> payload) {
  return crc32c(payload, checksum_of(header));
}

Error malformed(const char* field, uint64_t value, const char* relation, uint64_t limit) {
  return make_error(ErrorCode::kMalformedMessage,
                    "a segment's {} is {}, and must be {} {}; the peer speaks another version or "
                    "sends damaged data",
                    field,
                    value,
                    relation,
                    limit);
}

Status check_below(const char* field, uint64_t value, uint64_t limit) {
  if (value >= limit) return malformed(field, value, "below", limit);
  return {};
}

Status check_at_most(const char* field, uint64_t value, uint64_t limit) {
  if (value > limit) return malformed(field, value, "at most", limit);
  return {};
}

Status check_equal(const char* field, uint64_t value, uint64_t expected) {
  if (value != expected) return malformed(field, value, "exactly", expected);
  return {};
}

Status check_names(const SegmentHeader& header, const SegmentLimits& limits) {
  CD_TRY(check_below("source", header.source, limits.sources));
  CD_TRY(check_below("outlet", header.outlet, limits.outlets));
  CD_TRY(check_below("sending rank", header.from_rank, limits.ranks));
  CD_TRY(check_below("receiving rank", header.to_rank, limits.ranks));
  return check_below("hop", header.hop, limits.hops);
}

Status check_sizes(const SegmentHeader& header, const SegmentLimits& limits) {
  CD_TRY(check_at_most("row count", header.rows, limits.rows_max));
  CD_TRY(check_at_most("heap", header.heap_bytes, limits.heap_bytes_max));
  CD_TRY(check_at_most("decoded length", header.raw_bytes, limits.raw_bytes_max));
  CD_TRY(check_below("codec", header.codec, limits.codecs));
  // A codec is used only where it saves bytes, so what travels is never more than what is decoded.
  CD_TRY(check_at_most("payload length", header.bytes, header.raw_bytes));
  if (header.codec == 0) CD_TRY(check_equal("decoded length", header.raw_bytes, header.bytes));
  return {};
}

}  // namespace

void stamp(SegmentHeader& header, std::span<const std::byte> payload) {
  header.magic = kSegmentMagic;
  header.bytes = static_cast<uint32_t>(payload.size());
  header.checksum = checksum_of(header, payload);
}

Status check_header(const SegmentHeader& header, const SegmentLimits& limits) {
  CD_TRY(check_equal("magic number", header.magic, kSegmentMagic));
  CD_TRY(check_equal("unknown flags", header.flags & ~kSegmentFlags, 0));
  CD_TRY(check_equal("spare field", header.spare | header.spare_16 | header.spare_64, 0));
  CD_TRY(check_names(header, limits));
  return check_sizes(header, limits);
}

Status check_payload(const SegmentHeader& header, std::span<const std::byte> payload) {
  CD_TRY(check_equal("payload length", payload.size(), header.bytes));
  return check_checksum(header, checksum_of(header, payload));
}

uint32_t copy_payload(const SegmentHeader& header,
                      std::span<const std::byte> payload,
                      std::byte* to) {
  return copy_crc32c(payload, to, checksum_of(header));
}

uint32_t begin_checksum(const SegmentHeader& header) { return checksum_of(header); }

Status check_checksum(const SegmentHeader& header, uint32_t checksum) {
  return check_equal("checksum", header.checksum, checksum);
}

}  // namespace crossdock::rings
