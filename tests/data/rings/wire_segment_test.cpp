// Segments from wires: what is whole is read, and nothing else.
#include "data/rings/wire_segment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock::rings {
namespace {

using ::testing::HasSubstr;

const SegmentLimits kLimits{.sources = 8,
                            .outlets = 4,
                            .ranks = 3,
                            .hops = 2,
                            .codecs = 2,
                            .rows_max = 100,
                            .heap_bytes_max = 64,
                            .raw_bytes_max = 4096};

SegmentHeader good_header() {
  SegmentHeader header;
  header.channel = 3;
  header.source = 7;
  header.outlet = 1;
  header.from_rank = 2;
  header.hop = 1;
  header.rows = 5;
  header.sequence = 12;
  header.raw_bytes = 40;
  return header;
}

Result<SegmentHeader> read_segment(std::span<const std::byte> bytes) {
  SegmentHeader header;
  if (bytes.size() < sizeof(header)) return make_error(ErrorCode::kMalformedMessage, "no header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  CD_TRY(check_header(header, kLimits));
  const std::span<const std::byte> payload = bytes.subspan(sizeof(header));
  CD_TRY(check_payload(header, payload));
  std::vector<std::byte> copy(payload.size());
  CD_TRY(check_checksum(header, copy_payload(header, payload, copy.data())));
  EXPECT_TRUE(std::ranges::equal(copy, payload));
  return header;
}

// By the copy's checksum alone; the payload's length is right.
bool is_right_copy(std::span<const std::byte> bytes) {
  SegmentHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const std::span<const std::byte> payload = bytes.subspan(sizeof(header));
  std::vector<std::byte> copy(payload.size());
  return check_checksum(header, copy_payload(header, payload, copy.data())).ok();
}

// The header, stamped, with its payload behind it.
std::vector<std::byte> wire_bytes(SegmentHeader header, size_t payload_bytes = 40) {
  std::vector<std::byte> bytes(sizeof(header) + payload_bytes, std::byte{0x5A});
  stamp(header, std::span(bytes).subspan(sizeof(header)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

std::string wire_fault_of(const SegmentHeader& header) {
  const auto read = read_segment(wire_bytes(header));
  if (read.ok()) return "";
  EXPECT_EQ(read.error().code, ErrorCode::kMalformedMessage);
  return read.error().message;
}

TEST(WireSegment, a_whole_one_is_read) {
  const auto bytes = wire_bytes(good_header());
  const auto read = read_segment(bytes);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().sequence, 12U);
  EXPECT_EQ(read.value().bytes, 40U);
}

TEST(WireSegment, every_changed_bit_is_noticed) {
  const auto good = wire_bytes(good_header());
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    if (bit / 8 == offsetof(SegmentHeader, hop)) continue;  // may change on the way
    auto bytes = good;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(read_segment(bytes).ok()) << "bit " << bit;
    EXPECT_FALSE(is_right_copy(bytes)) << "bit " << bit;
  }
}

TEST(WireSegment, a_process_in_the_middle_may_count_the_hop) {
  SegmentHeader header = good_header();
  header.hop = 0;
  auto bytes = wire_bytes(header);
  bytes[offsetof(SegmentHeader, hop)] = std::byte{1};
  const auto read = read_segment(bytes);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().hop, 1);
}

TEST(WireSegment, a_part_of_one_is_refused) {
  const auto good = wire_bytes(good_header());
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(read_segment(std::span(good).first(length)).ok()) << length;
  }
}

// A peer that stamps what it likes: the checksum holds, the fields do not.
TEST(WireSegment, every_field_has_its_limit) {
  const auto with = [](auto change) {
    SegmentHeader header = good_header();
    change(header);
    return wire_fault_of(header);
  };
  EXPECT_EQ(with([](SegmentHeader&) {}), "");
  EXPECT_THAT(with([](SegmentHeader& h) { h.source = 8; }),
              HasSubstr("source is 8, and must be below 8"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.outlet = 4; }), HasSubstr("outlet is 4"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.from_rank = 3; }), HasSubstr("sending rank is 3"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.to_rank = 3; }), HasSubstr("receiving rank is 3"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.heap_bytes = 65; }), HasSubstr("heap is 65"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.hop = 2; }), HasSubstr("hop is 2"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.rows = 101; }),
              HasSubstr("row count is 101, and must be at most 100"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.raw_bytes = 41; }), HasSubstr("decoded length is 41"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.raw_bytes = 4097; }), HasSubstr("4096"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.codec = 2; }), HasSubstr("codec is 2"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.codec = 1, h.raw_bytes = 39; }),
              HasSubstr("payload length is 40"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.flags = 4; }), HasSubstr("unknown flags"));
  EXPECT_THAT(with([](SegmentHeader& h) { h.spare_16 = 1; }), HasSubstr("spare"));
}

}  // namespace
}  // namespace crossdock::rings
