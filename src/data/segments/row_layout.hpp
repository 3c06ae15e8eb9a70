// How the rows of a schema lie in segments.
//
// Columns of fixed width lie as in Arrow. Texts and binaries lie as Arrow views (16 bytes: length, and up to 12 bytes
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

namespace crossdock {

struct RowLayoutOptions {
  int64_t segment_bytes = int64_t{256} << 10;  // about; header, bitmaps, lanes and heap together
  // Of what a text takes in the heap, on average; says how the segment is shared between lanes and heap.
  int64_t text_bytes = 32;
  // Rows carry the 16-bit number of their destination in a last, hidden lane.
  bool has_destinations = false;
};

// Immutable; const access from any number of threads.
class RowLayout {
 public:
  // CD-102: a column of a type that cannot travel; CD-105: too many columns, a segment too small for 64 rows or too
  // large, with the limit.
  static Result<std::shared_ptr<const RowLayout>> make(SchemaPtr schema, RowLayoutOptions options);

  const SchemaPtr& schema() const { return schema_; }  // of what is sent
  // Of what is received: texts as views, dictionaries as their values; the hidden lane is not in it.
  const SchemaPtr& received_schema() const { return received_schema_; }
  const SegmentLayout& segments() const { return segments_; }
  RingShape ring_shape(int slot_bits) const;
  // A text of more bytes cannot travel on this channel.
  int64_t text_bytes_max() const { return static_cast<int64_t>(segments_.heap_bytes); }
  bool has_texts() const { return segments_.heap_bytes != 0; }
  int destination_lane() const { return destination_lane_; }  // -1: none

  // The same lanes for a segment of `rows` rows and `heap_bytes` of heap, one right behind the other: how a segment
  // that is not full travels on a wire (SegmentFlag::kPacked).
  SegmentLayout packed(uint32_t rows, uint64_t heap_bytes) const;

 private:
  RowLayout() = default;
  SchemaPtr schema_;
  SchemaPtr received_schema_;
  std::vector<LaneShape> lanes_;  // lane i is column i; the hidden one is last
  SegmentLayout segments_;
  int destination_lane_ = -1;
};

}  // namespace crossdock
