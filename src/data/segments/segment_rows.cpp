#include "data/segments/segment_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.hpp"

namespace crossdock::segments {
namespace {

constexpr uint32_t kInlineBytes = 12;

// What a batch of strings keeps: the segment, and the one buffer that its views lie in.
struct HeapOwner {
  std::shared_ptr<const void> segment;
  const uint8_t* heap;
  int64_t heap_bytes;
};

const rings::SegmentHeader& header_of(const std::byte* segment) {
  return *reinterpret_cast<const rings::SegmentHeader*>(segment);
}

bool is_packed(const rings::SegmentHeader& header) { return (header.flags & rings::kPacked) != 0; }

// Calls `call` with the layout that the segment lies in.
template <class Call>
auto with_layout(const RowLayout& layout, const rings::SegmentHeader& header, const Call& call) {
  if (!is_packed(header)) return call(layout.segments());
  return call(layout.packed(header.rows, header.heap_bytes));
}

const uint8_t* bytes_at(const std::byte* segment, uint32_t offset) {
  return reinterpret_cast<const uint8_t*>(segment + offset);
}

int64_t count_ones(const uint8_t* bits, uint32_t count) {
  int64_t ones = 0;
  uint32_t row = 0;
  uint64_t word;
  for (; row + 64 <= count; row += 64) {
    std::memcpy(&word, bits + row / 8, sizeof word);
    ones += std::popcount(word);
  }
  if (row == count) return ones;
  std::memcpy(&word, bits + row / 8, sizeof word);  // bitmaps end at a boundary of 64 bytes
  return ones + std::popcount(word & ((uint64_t{1} << (count - row)) - 1));
}

ColumnView lane_view(const rings::SegmentLayout& lanes, const std::byte* segment, uint32_t lane) {
  const uint32_t rows = header_of(segment).rows;
  ColumnView view;
  view.length = rows;
  view.values = bytes_at(segment, lanes.lane_offset[lane]);
  if (lanes.validity_offset[lane] == rings::SegmentLayout::kNone) return view;
  const uint8_t* validity = bytes_at(segment, lanes.validity_offset[lane]);
  view.null_count = rows - count_ones(validity, rows);
  if (view.null_count != 0) view.validity = validity;
  return view;
}

Error malformed_row(uint32_t lane, uint32_t row, uint64_t value, const char* what) {
  return make_error(ErrorCode::kMalformedMessage,
                    "a segment's text in row {} of column {} {}: {}; the peer speaks another "
                    "version or sends damaged data",
                    row,
                    lane,
                    what,
                    value);
}

Status check_text(const uint8_t* view, const uint8_t* heap, uint64_t heap_bytes, uint32_t at[2]) {
  uint32_t words[4];  // length, prefix, heap, begin
  std::memcpy(words, view, sizeof words);
  const uint32_t bytes = words[0];
  if (bytes <= kInlineBytes) {
    uint8_t text[16] = {};
    std::memcpy(text, view, 4 + bytes);
    if (std::memcmp(text, view, sizeof text) == 0) return {};
    return malformed_row(at[0], at[1], bytes, "has bytes behind its end; its length is");
  }
  if (words[2] != 0) return malformed_row(at[0], at[1], words[2], "is in a heap that is not there");
  if (uint64_t{words[3]} + bytes > heap_bytes) {
    return malformed_row(at[0], at[1], uint64_t{words[3]} + bytes, "ends behind the heap, at byte");
  }
  if (std::memcmp(heap + words[3], view + 4, 4) == 0) return {};
  return malformed_row(at[0], at[1], words[1], "does not start as its view says");
}

Status check_strings(const rings::SegmentLayout& lanes, const std::byte* segment) {
  const rings::SegmentHeader& header = header_of(segment);
  const uint8_t* heap = bytes_at(segment, lanes.heap_offset);
  for (uint32_t lane = 0; lane < lanes.lane_count; ++lane) {
    if (((lanes.text_lanes[lane / 64] >> (lane % 64)) & 1) == 0) continue;
    const uint8_t* views = bytes_at(segment, lanes.lane_offset[lane]);
    for (uint32_t row = 0; row < header.rows; ++row) {
      uint32_t at[2] = {lane, row};
      CD_TRY(check_text(views + size_t{row} * 16, heap, header.heap_bytes, at));
    }
  }
  return {};
}

Status check_count(const char* what, uint64_t value, uint64_t limit) {
  if (value <= limit) return {};
  return make_error(ErrorCode::kMalformedMessage,
                    "a segment says that it has {} {}, and those of its channel have at most {}; "
                    "the peer speaks another version or sends damaged data",
                    value,
                    what,
                    limit);
}

Status check_size(uint64_t bytes, uint64_t expected) {
  if (bytes == expected) return {};
  return make_error(ErrorCode::kMalformedMessage,
                    "a segment has {} bytes, and those of its rows and heap are {}; the peer "
                    "speaks another version or sends damaged data",
                    bytes,
                    expected);
}

// Copies `bytes` and clears what is left up to `end`.
void copy_padded(const std::byte* from, uint64_t bytes, std::byte* to, const std::byte* end) {
  std::memcpy(to, from, bytes);
  std::memset(to + bytes, 0, static_cast<size_t>(end - to) - bytes);
}

// A lane or bitmap of a segment: where it lies in both layouts.
struct Piece {
  uint32_t from;
  uint32_t to;
  uint64_t bytes;
};

// In the order in which they lie.
std::vector<Piece> pieces_of(const rings::SegmentLayout& full,
                             const rings::SegmentLayout& packed,
                             uint32_t rows) {
  std::vector<Piece> pieces;
  const uint64_t bitmap_bytes = (uint64_t{rows} + 7) / 8;
  for (uint32_t lane = 0; lane < full.lane_count; ++lane) {
    if (full.validity_offset[lane] != rings::SegmentLayout::kNone) {
      pieces.push_back({full.validity_offset[lane], packed.validity_offset[lane], bitmap_bytes});
    }
    const uint64_t width = full.width_bytes[lane];
    pieces.push_back({full.lane_offset[lane],
                      packed.lane_offset[lane],
                      width == 0 ? bitmap_bytes : width * rows});
  }
  std::sort(
      pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.to < b.to; });
  return pieces;
}

}  // namespace

Batch segment_batch(const RowLayout& layout,
                    const std::byte* segment,
                    std::shared_ptr<const void> owner) {
  const rings::SegmentHeader& header = header_of(segment);
  Batch batch;
  batch.schema = layout.received_schema();
  batch.rows = header.rows;
  batch.owner = std::move(owner);
  const auto columns = static_cast<uint32_t>(batch.schema->fields.size());
  batch.columns.reserve(columns);
  with_layout(layout, header, [&](const rings::SegmentLayout& lanes) {
    std::shared_ptr<HeapOwner> heap;
    if (layout.has_strings()) {
      heap = std::make_shared<HeapOwner>(HeapOwner{
          std::move(batch.owner), bytes_at(segment, lanes.heap_offset), header.heap_bytes});
      batch.owner = heap;
    }
    for (uint32_t lane = 0; lane < columns; ++lane) {
      ColumnView view = lane_view(lanes, segment, lane);
      if (layout.is_text(static_cast<int>(lane))) {
        view.heaps = &heap->heap;
        view.heap_bytes = &heap->heap_bytes;
        view.heap_count = 1;
      }
      batch.columns.push_back(view);
    }
  });
  return batch;
}

std::span<const uint16_t> segment_destinations(const RowLayout& layout, const std::byte* segment) {
  CD_CHECK(layout.destination_lane() >= 0, "a layout without destinations");
  const auto lane = static_cast<uint32_t>(layout.destination_lane());
  const rings::SegmentHeader& header = header_of(segment);
  return with_layout(layout, header, [&](const rings::SegmentLayout& lanes) {
    return std::span(lanes.lane<uint16_t>(segment, lane), header.rows);
  });
}

Status check_rows(const RowLayout& layout, const std::byte* segment, uint64_t segment_bytes) {
  if (segment_bytes < sizeof(rings::SegmentHeader)) {
    return check_size(segment_bytes, sizeof(rings::SegmentHeader));
  }
  const rings::SegmentHeader& header = header_of(segment);
  const rings::SegmentLayout& full = layout.segments();
  CD_TRY(check_count("rows", header.rows, full.rows_max));
  CD_TRY(check_count("bytes of heap", header.heap_bytes, full.heap_bytes));
  return with_layout(layout, header, [&](const rings::SegmentLayout& lanes) -> Status {
    CD_TRY(check_size(segment_bytes, lanes.bytes));
    return check_strings(lanes, segment);
  });
}

uint64_t pack_segment(const RowLayout& layout, const std::byte* segment, std::byte* out) {
  const rings::SegmentHeader& header = header_of(segment);
  const rings::SegmentLayout& full = layout.segments();
  const bool is_full = header.rows == full.rows_max && header.heap_bytes == full.heap_bytes;
  if (is_full || is_packed(header)) {
    const uint64_t bytes =
        with_layout(layout, header, [](const rings::SegmentLayout& lanes) { return lanes.bytes; });
    std::memcpy(out, segment, bytes);
    return bytes;
  }
  const rings::SegmentLayout packed = layout.packed(header.rows, header.heap_bytes);
  std::memcpy(out, segment, sizeof(rings::SegmentHeader));
  reinterpret_cast<rings::SegmentHeader*>(out)->flags |= rings::kPacked;
  const std::vector<Piece> pieces = pieces_of(full, packed, header.rows);
  const uint64_t lanes_end = packed.heap_bytes == 0 ? packed.bytes : packed.heap_offset;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const uint64_t end = i + 1 < pieces.size() ? pieces[i + 1].to : lanes_end;
    copy_padded(segment + pieces[i].from, pieces[i].bytes, out + pieces[i].to, out + end);
  }
  if (packed.heap_bytes != 0) {
    copy_padded(segment + full.heap_offset,
                header.heap_bytes,
                out + packed.heap_offset,
                out + packed.bytes);
  }
  return packed.bytes;
}

}  // namespace crossdock::segments
