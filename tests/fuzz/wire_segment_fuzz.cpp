// Segments of random bytes, and good ones with a few bytes changed and stamped again, so that what lies behind the
// checksum is reached: reading answers a header within the receiver's limits or an error of its kind.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "data/rings/wire_segment.hpp"

namespace crossdock {
namespace {

constexpr rings::SegmentLimits kLimits{.sources = 8,
                                       .outlets = 4,
                                       .ranks = 3,
                                       .hops = 2,
                                       .codecs = 2,
                                       .rows_max = 100,
                                       .heap_bytes_max = 64,
                                       .raw_bytes_max = 4096};

Status check(const rings::SegmentHeader& header, std::span<const std::byte> payload) {
  CD_TRY(rings::check_header(header, kLimits));
  CD_CHECK(header.source < kLimits.sources, "source {}", header.source);
  CD_CHECK(header.outlet < kLimits.outlets, "outlet {}", header.outlet);
  CD_CHECK(header.from_rank < kLimits.ranks, "from {}", header.from_rank);
  CD_CHECK(header.to_rank < kLimits.ranks, "to {}", header.to_rank);
  CD_CHECK(header.hop < kLimits.hops, "hop {}", header.hop);
  CD_CHECK(header.codec < kLimits.codecs, "codec {}", header.codec);
  CD_CHECK(header.rows <= kLimits.rows_max, "rows {}", header.rows);
  CD_CHECK(header.heap_bytes <= kLimits.heap_bytes_max, "heap {}", header.heap_bytes);
  CD_CHECK(header.raw_bytes <= kLimits.raw_bytes_max, "raw bytes {}", header.raw_bytes);
  CD_TRY(rings::check_payload(header, payload));
  CD_CHECK(header.bytes == payload.size(), "bytes {}", header.bytes);
  return {};
}

void read(std::span<const std::byte> bytes) {
  rings::SegmentHeader header;
  if (bytes.size() < sizeof(header)) return;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const Status checked = check(header, bytes.subspan(sizeof(header)));
  if (checked.ok()) return;
  CD_CHECK(checked.error().code == ErrorCode::kMalformedMessage, "{}", checked.error().message);
  CD_CHECK(!checked.error().message.empty(), "an error without words");
}

// A header that is within all limits but for what the input changes, with the rest of the input as its payload.
void read_stamped(const uint8_t* data, size_t size) {
  rings::SegmentHeader header;
  header.channel = 3;
  header.source = 7;
  header.outlet = 1;
  header.rows = 5;
  std::byte fields[sizeof(header)];
  std::memcpy(fields, &header, sizeof(header));
  const size_t changes = std::min<size_t>(size / 2, 3);
  for (size_t i = 0; i < changes; ++i) {
    fields[data[2 * i] % sizeof(header)] = std::byte{data[2 * i + 1]};
  }
  std::memcpy(&header, fields, sizeof(header));
  const std::span payload = std::as_bytes(std::span(data, size).subspan(2 * changes));
  header.raw_bytes += static_cast<uint32_t>(payload.size());
  rings::stamp(header, payload);
  std::vector<std::byte> bytes(sizeof(header) + payload.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::ranges::copy(payload, bytes.begin() + sizeof(header));
  read(bytes);
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace crossdock;
  if (size == 0) return 0;
  if (data[0] % 4 == 0) {
    read(std::as_bytes(std::span(data, size)));
  } else {
    read_stamped(data + 1, size - 1);
  }
  return 0;
}
