// Lanes of a schema, and how many rows of them a segment holds.
#include "data/segments/row_layout.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "data/rings/place_ring.hpp"
#include "data/rings/ring_traits.hpp"

namespace crossdock::segments {
namespace {

constexpr uint64_t kHeapBytesMin = 1024;
constexpr uint64_t kHeapBytesMax = rings::RingDefaults::Word::kHeapUnitsMax * rings::kHeapUnitBytes;
constexpr uint64_t kRowsMax = kSegmentRowsMax;
static_assert(kRowsMax == rings::RingDefaults::Word::kRowsMax);

bool has_strings(const DataType& type) { return is_string(type.id) || is_binary(type.id); }

// What a column is when it arrives.
Field received_field(const Field& field) {
  const bool is_dictionary = field.type.id == TypeId::kDictionary;
  Field received{
      field.name, value_type(field.type), field.nullable || is_dictionary, field.metadata};
  if (is_string(received.type.id)) {
    received.type = parse_arrow_format("vu").value();
  } else if (is_binary(received.type.id)) {
    received.type = parse_arrow_format("vz").value();
  }
  return received;
}

rings::LaneShape lane_of(const Field& received) {
  rings::LaneShape lane;
  lane.width_bytes = static_cast<uint16_t>(fixed_bytes(received.type));
  lane.nullable = received.nullable;
  lane.is_text = has_strings(received.type);
  return lane;
}

struct Shares {
  uint64_t rows = 0;
  uint64_t heap_bytes = 0;
};

// How many rows a segment has, such that its lanes and their strings fill it together.
Shares share(const std::vector<rings::LaneShape>& lanes, const RowLayoutOptions& options) {
  uint64_t row_bits = 0;
  uint64_t edges_bytes = sizeof(rings::SegmentHeader) + rings::kSegmentAlignment;  // of the heap
  uint64_t text_lanes = 0;
  for (const rings::LaneShape& lane : lanes) {
    row_bits += lane.width_bytes * 8 + (lane.width_bytes == 0) + lane.nullable;
    edges_bytes += rings::kSegmentAlignment * (1 + lane.nullable);
    text_lanes += lane.is_text;
  }
  const auto segment_bytes = static_cast<uint64_t>(std::max<int64_t>(options.segment_bytes, 0));
  const auto text_bytes = static_cast<uint64_t>(std::max<int64_t>(options.text_bytes, 0));
  const uint64_t row_heap_bytes = text_lanes * text_bytes;
  if (text_lanes != 0) edges_bytes += kHeapBytesMin;
  const uint64_t free_bytes = segment_bytes > edges_bytes ? segment_bytes - edges_bytes : 0;
  Shares shares;
  shares.rows = std::min(free_bytes * 8 / (row_bits + row_heap_bytes * 8), kRowsMax);
  if (text_lanes == 0) return shares;
  const uint64_t heap_bytes = std::max(shares.rows * row_heap_bytes, kHeapBytesMin);
  shares.heap_bytes =
      std::min(heap_bytes, kHeapBytesMax) / rings::kHeapUnitBytes * rings::kHeapUnitBytes;
  return shares;
}

Status check_options(const Schema& schema, const RowLayoutOptions& options) {
  if (schema.fields.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "rows of 0 columns are to be sent; a row needs 1 or more");
  }
  const size_t columns = schema.fields.size() + options.has_destinations;
  if (columns > rings::kSegmentLanesMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "rows of {} columns{} are to be sent, and a segment has room for {}; send "
                      "fewer columns at a time",
                      schema.fields.size(),
                      options.has_destinations ? " and a destination" : "",
                      rings::kSegmentLanesMax);
  }
  const auto limit = static_cast<int64_t>(rings::kSegmentBytesMax);
  if (options.segment_bytes > limit || options.text_bytes < 0 || options.text_bytes > limit) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "segments of {} bytes with strings of {} are wanted; both are at most {}, and "
        "strings have 0 or more",
        options.segment_bytes,
        options.text_bytes,
        limit);
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const RowLayout>> RowLayout::make(SchemaPtr schema,
                                                         RowLayoutOptions options) {
  CD_TRY(check_options(*schema, options));
  std::shared_ptr<RowLayout> layout(new RowLayout);
  auto received = std::make_shared<Schema>();
  for (const Field& field : schema->fields) {
    received->fields.push_back(received_field(field));
    layout->lanes_.push_back(lane_of(received->fields.back()));
  }
  if (options.has_destinations) {
    layout->destination_lane_ = static_cast<int>(layout->lanes_.size());
    layout->lanes_.push_back({.width_bytes = sizeof(uint16_t)});
  }
  const Shares shares = share(layout->lanes_, options);
  if (shares.rows < kSegmentRowsMin) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a segment of {} bytes holds {} rows of these {} columns, and needs {} or "
                      "more; allow more bytes per segment, or send fewer columns at a time",
                      options.segment_bytes,
                      shares.rows,
                      schema->fields.size(),
                      kSegmentRowsMin);
  }
  CD_ASSIGN(layout->segments_,
            rings::make_segment_layout(
                layout->lanes_, static_cast<uint32_t>(shares.rows), shares.heap_bytes));
  layout->schema_ = std::move(schema);
  layout->received_schema_ = std::move(received);
  return std::shared_ptr<const RowLayout>(std::move(layout));
}

rings::RingShape RowLayout::ring_shape(int slot_bits) const {
  const auto shape = rings::make_ring_shape(segments_, slot_bits);
  CD_CHECK(shape.ok(), "2^{} slots of {} rows", slot_bits, segments_.rows_max);
  return shape.value();
}

rings::SegmentLayout RowLayout::packed(uint32_t rows, uint64_t heap_bytes) const {
  // A layout has a row at least; no sender sends a segment without any, but a broken one may say so.
  auto layout = rings::make_segment_layout(lanes_, std::max<uint32_t>(rows, 1), heap_bytes);
  CD_CHECK(layout.ok(), "{} rows, {} bytes of heap", rows, heap_bytes);
  return layout.value();
}

}  // namespace crossdock::segments
