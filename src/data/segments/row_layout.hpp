// How the rows of a schema lie in segments.
//
// Columns of fixed width lie as in Arrow. Strings and binaries lie as Arrow views (16 bytes: length, and up to 12 bytes
// in place or a prefix and an offset into the segment's heap), since many producers append to one heap, where offsets
// would need an order. Dictionary columns travel as their values. The rows of a segment are Arrow columns as they
// stand.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "data/rings/make_segment_layout.hpp"
#include "data/rings/ring.hpp"
#include "table/schema.hpp"

namespace crossdock::segments {

inline constexpr uint32_t kSegmentRowsMin = 64;  // of a full segment; fewer are not worth a header
inline constexpr uint32_t kSegmentRowsMax = 262'143;  // rows are counted in 18 bits

struct RowLayoutOptions {
  // At most; header, bitmaps, lanes and heap together. A segment is smaller if its rows are so narrow that
  // kSegmentRowsMax of them take less: 256 KiB of one byte each, 32 KiB of one bit.
  int64_t segment_bytes = int64_t{256} << 10;
  // Of what a text takes in the heap, on average; says how the segment is shared between lanes and heap.
  int64_t text_bytes = 32;
  // Rows carry the 16-bit number of their destination in a last, hidden lane.
  bool has_destinations = false;
};

// Immutable; const access from any number of threads.
class RowLayout {
 public:
  // CD-105: no columns or too many, a segment too small for kSegmentRowsMin rows or too large, with the limit. Every
  // type that a schema can have travels.
  static Result<std::shared_ptr<const RowLayout>> make(SchemaPtr schema, RowLayoutOptions options);

  const SchemaPtr& schema() const { return schema_; }  // of what is sent
  // Of what is received: strings as views, dictionaries as their values; the hidden lane is not in it. A dictionary may
  // hold NULLs, so its column is nullable here, whatever it was.
  const SchemaPtr& received_schema() const { return received_schema_; }
  const rings::SegmentLayout& segments() const { return segments_; }
  // 0 <= slot_bits <= kRingSlotBitsMax.
  rings::RingShape ring_shape(int slot_bits) const;
  // The strings of a row together; those of 12 bytes or less do not count.
  int64_t text_bytes_max() const { return static_cast<int64_t>(segments_.heap_bytes); }
  bool has_strings() const { return segments_.heap_bytes != 0; }
  bool is_text(int column) const { return lanes_[column].is_text; }
  bool is_nullable(int column) const { return lanes_[column].nullable; }
  int destination_lane() const { return destination_lane_; }  // -1: none

  // The same lanes for a segment of `rows` rows and `heap_bytes` of heap, one right behind the other: how a segment
  // that is not full travels on a wire (SegmentFlag::kPacked). Neither is over its maximum.
  rings::SegmentLayout packed(uint32_t rows, uint64_t heap_bytes) const;

 private:
  RowLayout() = default;
  SchemaPtr schema_;
  SchemaPtr received_schema_;
  std::vector<rings::LaneShape> lanes_;  // lane i is column i; the hidden one is last
  rings::SegmentLayout segments_;
  int destination_lane_ = -1;
};

}  // namespace crossdock::segments
