// What fits a layout, and the walk over its lanes.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "data/segments/fill_lanes.hpp"
#include "data/segments/fill_strings.hpp"
#include "data/segments/resolve_dictionary.hpp"
#include "data/segments/segment_rows.hpp"

namespace crossdock::segments {
namespace {

using namespace filling;

// Whether values of one type can lie in the lane that was made for another.
bool is_same_lane(const DataType& sent, const DataType& expected) {
  const DataType& one = value_type(sent);
  const DataType& other = value_type(expected);
  if (is_string(one.id)) return is_string(other.id);
  if (is_binary(one.id)) return is_binary(other.id);
  return one == other;
}

Status check_counts(const RowLayout& layout,
                    const Batch& batch,
                    std::span<const uint16_t> destinations) {
  if (batch.rows > int64_t{UINT32_MAX}) {
    return make_error(ErrorCode::kTooManyRows,
                      "a batch of {} rows is sent, and one has at most {}; cut it",
                      batch.rows,
                      UINT32_MAX);
  }
  const auto expected = layout.destination_lane() < 0 ? 0 : static_cast<size_t>(batch.rows);
  if (destinations.size() != expected) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} destinations come with {} rows, and this layout takes {}",
                      destinations.size(),
                      batch.rows,
                      expected);
  }
  return {};
}

Status check_no_nulls(const Field& field, const ColumnView& column) {
  int64_t null_row = -1;
  const auto rows = static_cast<uint32_t>(column.length);
  if (field.type.id == TypeId::kDictionary) {
    in_resolved_blocks(
        field.type, column, RowRun{0}, rows, [&](uint32_t begin, uint32_t count, const auto& some) {
          for (uint32_t i = 0; i < count; ++i) {
            if (!some(i) && null_row < 0) null_row = begin + i;
          }
        });
  } else if (column.validity != nullptr) {
    for (int64_t row = 0; row < column.length && null_row < 0; ++row) {
      if (!column.is_valid(row)) null_row = row;
    }
  }
  if (null_row < 0) return {};
  return make_error(ErrorCode::kMalformedArrow,
                    "row {} of column \"{}\" is NULL, and the channel's schema says that none is; "
                    "make the column nullable there",
                    null_row,
                    field.name);
}

// Adds what the strings of a column take in the heap; sums end at `limit`, which is far below 2^32.
void add_heap_bytes(const FilledColumn& from, uint32_t limit, std::vector<uint32_t>& heap_bytes) {
  const ColumnView& column = from.plain.view;
  const auto rows = static_cast<uint32_t>(heap_bytes.size());
  uint32_t* const sums = heap_bytes.data();
  const auto add = [sums, limit](uint32_t row, uint32_t bytes) {
    sums[row] = std::min(sums[row] + (bytes <= kInlineBytes ? 0 : bytes), limit);
  };
  if (from.dictionary != nullptr) {
    const auto add_block = [&](uint32_t begin, uint32_t count, const ResolvedRows& some) {
      with_strings(from.plain.layout, *column.dictionary, [&](const auto& strings) {
        for (uint32_t i = 0; i < count; ++i) {
          if (some(i)) add(begin + i, strings.size_up_to(some.rows[i], limit));
        }
      });
    };
    in_resolved_blocks(*from.dictionary, column, RowRun{0}, rows, add_block);
    return;
  }
  with_strings(from.plain.layout, column, [&](const auto& strings) {
    if (column.validity == nullptr) {
      for (uint32_t row = 0; row < rows; ++row) add(row, strings.size_up_to(row, limit));
      return;
    }
    for (uint32_t row = 0; row < rows; ++row) {
      if (column.is_valid(row)) add(row, strings.size_up_to(row, limit));
    }
  });
}

FilledColumn filled_column(const DataType& type, const ColumnView& column) {
  return {{column, layout(value_type(type))}, type.id == TypeId::kDictionary ? &type : nullptr};
}

// heap_bytes[row] = what the strings of a row take.
Status measure_strings(const RowLayout& layout,
                       const Batch& batch,
                       std::vector<uint32_t>& heap_bytes) {
  heap_bytes.assign(static_cast<size_t>(batch.rows), 0);
  // One more than may be is enough to see that a row is too long.
  const auto limit = static_cast<uint32_t>(layout.text_bytes_max()) + 1;
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    if (!layout.is_text(static_cast<int>(i))) continue;
    add_heap_bytes(
        filled_column(batch.schema->fields[i].type, batch.columns[i]), limit, heap_bytes);
  }
  const auto longest = std::max_element(heap_bytes.begin(), heap_bytes.end());
  if (longest == heap_bytes.end() || *longest < limit) return {};
  return make_error(
      ErrorCode::kInvalidArgument,
      "the strings of row {} have {} bytes or more, and a segment of this channel has "
      "room for {}; make its segments larger (segment_bytes)",
      longest - heap_bytes.begin(),
      *longest,
      limit - 1);
}

// Where rows of a ticket go in one lane, and their strings in the heap.
struct Target {
  const rings::SegmentLayout& layout;
  std::byte* segment;
  uint32_t lane;
  uint32_t first;
  uint32_t& heap_at;  // moves on behind each text

  Target behind(uint32_t rows) const { return {layout, segment, lane, first + rows, heap_at}; }
  uint64_t* validity() const { return layout.validity(segment, lane); }
  uint64_t* bits() const { return layout.lane<uint64_t>(segment, lane); }
  std::byte* values() const {
    return layout.lane<std::byte>(segment, lane) + size_t{first} * layout.width_bytes[lane];
  }
};

// The values of a plain column, NULL or not.
template <class Rows, class IsValue>
void fill_values(const PlainColumn& from,
                 const Rows& rows,
                 uint32_t count,
                 const IsValue& is_value,
                 const Target& to) {
  const ColumnView& column = from.view;
  if (from.layout == Layout::kBits) {
    const BitSource bits{column.values, static_cast<uint64_t>(column.offset)};
    put_bits_of(to.bits(), to.first, count, bits, rows);
  } else if (from.layout == Layout::kFixed) {
    const uint32_t width = to.layout.width_bytes[to.lane];
    copy_fixed(width, column.values + column.offset * width, rows, count, to.values());
  } else {
    TextLane lane{
        reinterpret_cast<ViewWords*>(to.values()), to.segment + to.layout.heap_offset, to.heap_at};
    with_strings(from.layout, column, [&](const auto& strings) {
      copy_strings(strings, rows, count, is_value, lane);
    });
    to.heap_at = lane.heap_at;
  }
}

template <class Rows>
void fill_plain(const PlainColumn& from, const Rows& rows, uint32_t count, const Target& to) {
  const ColumnView& column = from.view;
  if (column.validity == nullptr) {
    fill_values(
        from, rows, count, [](uint32_t) { return true; }, to);
    if (to.validity() != nullptr) put_ones(to.validity(), to.first, count);
    return;
  }
  const BitSource valid{column.validity, static_cast<uint64_t>(column.offset)};
  fill_values(
      from, rows, count, [&](uint32_t i) { return valid(rows[i]); }, to);
  if (to.validity() != nullptr) put_bits_of(to.validity(), to.first, count, valid, rows);
}

// A block of a dictionary column's rows.
void fill_resolved(const PlainColumn& values,
                   const ResolvedRows& resolved,
                   uint32_t count,
                   const Target& to) {
  if (values.view.length == 0) {  // all are NULL, and no value can be read in their place
    const size_t bytes = size_t{count} * to.layout.width_bytes[to.lane];
    if (bytes != 0) std::memset(to.values(), 0, bytes);
    return;
  }
  fill_values(values, RowList{resolved.rows}, count, resolved, to);
  if (to.validity() == nullptr) return;
  put_bits(to.validity(), to.first, count, [&](uint32_t begin, uint32_t part) {
    const uint64_t low = resolved.valid[begin / 64] >> (begin % 64);
    const uint32_t left = 64 - begin % 64;
    return part <= left ? low : low | resolved.valid[begin / 64 + 1] << left;
  });
}

template <class Rows>
void fill_column(const FilledColumn& from, const Rows& rows, uint32_t count, const Target& to) {
  if (from.dictionary == nullptr) return fill_plain(from.plain, rows, count, to);
  in_resolved_blocks(*from.dictionary,
                     from.plain.view,
                     rows,
                     count,
                     [&](uint32_t begin, uint32_t part, const ResolvedRows& resolved) {
                       const PlainColumn values{*from.plain.view.dictionary, from.plain.layout};
                       fill_resolved(values, resolved, part, to.behind(begin));
                     });
}

}  // namespace

Status check_sent_schema(const Schema& sent, const Schema& channel) {
  if (sent.fields.size() != channel.fields.size()) {
    return make_error(ErrorCode::kUnknownColumn,
                      "the batch has {} columns, and the channel takes {}; send what it was made "
                      "for",
                      sent.fields.size(),
                      channel.fields.size());
  }
  for (size_t i = 0; i < sent.fields.size(); ++i) {
    const Field& field = sent.fields[i];
    if (field.name != channel.fields[i].name) {
      return make_error(ErrorCode::kUnknownColumn,
                        "column {} of the batch is \"{}\", and the channel takes \"{}\" there; "
                        "select the columns in its order",
                        i,
                        field.name,
                        channel.fields[i].name);
    }
    if (!is_same_lane(field.type, channel.fields[i].type)) {
      return make_error(ErrorCode::kUnsupportedType,
                        "column \"{}\" is of type {}, and the channel takes {}; cast it",
                        field.name,
                        type_name(field.type),
                        type_name(channel.fields[i].type));
    }
  }
  return {};
}

SegmentFiller::SegmentFiller(std::shared_ptr<const RowLayout> layout)
    : layout_(std::move(layout)) {}

Status SegmentFiller::set_batch(const Batch& batch, std::span<const uint16_t> destinations) {
  CD_TRY(check_counts(*layout_, batch, destinations));
  if (batch.schema != checked_) CD_TRY(check_sent_schema(*batch.schema, *layout_->schema()));
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    if (layout_->is_nullable(static_cast<int>(i))) continue;
    CD_TRY(check_no_nulls(batch.schema->fields[i], batch.columns[i]));
  }
  if (layout_->has_strings()) {
    CD_TRY(measure_strings(*layout_, batch, measured_));
    std::swap(heap_bytes_, measured_);
  }
  checked_ = batch.schema;
  columns_.clear();
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    columns_.push_back(filled_column(checked_->fields[i].type, batch.columns[i]));
  }
  destinations_ = destinations;
  return {};
}

template <class Rows>
void SegmentFiller::fill_rows(std::byte* segment,
                              const rings::Ticket& ticket,
                              const Rows& rows) const {
  const rings::SegmentLayout& lanes = layout_->segments();
  uint32_t heap_at = ticket.heap_first;
  uint32_t lane = 0;
  for (const FilledColumn& column : columns_) {
    fill_column(column, rows, ticket.rows, {lanes, segment, lane++, ticket.first, heap_at});
  }
  if (layout_->destination_lane() >= 0) {
    const auto* from = reinterpret_cast<const uint8_t*>(destinations_.data());
    const Target to{lanes, segment, lane, ticket.first, heap_at};
    copy_values<uint16_t>(from, rows, ticket.rows, to.values());
  }
  // What rounding up adds to the ticket's heap is no row's, and may not show what lay there before.
  const uint32_t beyond =
      (rings::kHeapUnitBytes - heap_at % rings::kHeapUnitBytes) % rings::kHeapUnitBytes;
  if (beyond != 0) std::memset(segment + lanes.heap_offset + heap_at, 0, beyond);
}

void SegmentFiller::fill(std::byte* segment,
                         const rings::Ticket& ticket,
                         std::span<const uint32_t> rows) const {
  CD_CHECK(rows.size() == ticket.rows, "{} rows, {} places", rows.size(), ticket.rows);
  fill_rows(segment, ticket, RowList{rows.data()});
}

void SegmentFiller::fill_run(std::byte* segment,
                             const rings::Ticket& ticket,
                             uint32_t first_row) const {
  fill_rows(segment, ticket, RowRun{first_row});
}

}  // namespace crossdock::segments
