#include "data/bulk/lane_writer.hpp"

#include <cstring>

#include "base/check.hpp"
#include "data/bulk/word_lanes.hpp"
#include "data/segments/fill_lanes.hpp"
#include "data/segments/fill_strings.hpp"
#include "data/segments/resolve_dictionary.hpp"

namespace crossdock::bulk {
namespace {

using namespace segments::filling;

// Where one column's rows go.
struct ColumnPlace {
  const BulkColumn& column;
  int32_t width_bytes;
  std::byte* values;   // of the first row
  std::byte* heap;     // where the first row's text goes
  int64_t* offset;     // of the next row; moves on
  uint64_t* bits;      // of values; bitmaps begin with row 0
  uint64_t* validity;  // null: the column has none
  uint64_t bit;        // of the first row
};

// Offsets, and strings one behind the other.
template <class Offset, class Strings, class Rows, class IsValue>
void copy_offsets(const Strings& strings,
                  const Rows& rows,
                  uint32_t count,
                  const IsValue& is_value,
                  const ColumnPlace& to) {
  auto* offsets = reinterpret_cast<Offset*>(to.values);
  const int64_t first = *to.offset;
  int64_t at = first;
  for (uint32_t i = 0; i < count; ++i) {
    offsets[i] = static_cast<Offset>(at);
    if (!is_value(i)) continue;
    const Text text = strings(rows[i]);
    std::byte* out = to.heap + (at - first);
    if (text.bytes > kInlineBytes) {
      copy_long(text.data, text.bytes, out);
    } else {
      std::memcpy(out, text.data, text.bytes);
    }
    at += static_cast<int64_t>(text.bytes);
  }
  *to.offset = at;
}

template <class Strings, class Rows, class IsValue>
void copy_text_rows(const Strings& strings,
                    const Rows& rows,
                    uint32_t count,
                    const IsValue& is_value,
                    const ColumnPlace& to) {
  if (to.column.layout == Layout::kOffsets32) {
    return copy_offsets<int32_t>(strings, rows, count, is_value, to);
  }
  if (to.column.layout == Layout::kOffsets64) {
    return copy_offsets<int64_t>(strings, rows, count, is_value, to);
  }
  // A view says where its text lies in the batch's heap; the heap that is written to may begin elsewhere.
  const auto first = static_cast<uint32_t>(*to.offset);
  const auto heap = reinterpret_cast<uintptr_t>(to.heap) - first;
  TextLane lane{reinterpret_cast<ViewWords*>(to.values), reinterpret_cast<std::byte*>(heap), first};
  copy_strings(strings, rows, count, is_value, lane);
  *to.offset = lane.heap_at;
}

// Values of a column that is no dictionary, NULL or not.
template <class Rows, class IsValue>
void write_values(const ColumnView& from,
                  const Rows& rows,
                  uint32_t count,
                  const IsValue& is_value,
                  const ColumnPlace& to) {
  if (to.column.layout == Layout::kBits) {
    put_bits_of(
        to.bits, to.bit, count, BitSource{from.values, static_cast<uint64_t>(from.offset)}, rows);
  } else if (to.column.layout == Layout::kFixed) {
    const auto width = static_cast<uint32_t>(to.width_bytes);
    copy_fixed(width, from.values + from.offset * to.width_bytes, rows, count, to.values);
  } else {
    with_strings(to.column.layout, from, [&](const auto& strings) {
      copy_text_rows(strings, rows, count, is_value, to);
    });
  }
}

template <class Rows>
void write_plain(const ColumnView& from, const Rows& rows, uint32_t count, const ColumnPlace& to) {
  if (from.validity == nullptr) {
    if (to.column.lane >= 0) {
      write_values(
          from, rows, count, [](uint32_t) { return true; }, to);
    }
    if (to.validity != nullptr) put_ones(to.validity, to.bit, count);
    return;
  }
  const BitSource valid{from.validity, static_cast<uint64_t>(from.offset)};
  if (to.column.lane >= 0) {
    write_values(
        from, rows, count, [&](uint32_t i) { return valid(rows[i]); }, to);
  }
  CD_CHECK(to.validity != nullptr, "a column with NULLs that was agreed to have none");
  put_bits_of(to.validity, to.bit, count, valid, rows);
}

// A block of a dictionary column's rows.
void write_resolved(const ColumnView& values,
                    const ResolvedRows& resolved,
                    uint32_t count,
                    const ColumnPlace& to) {
  const bool is_fixed = to.column.layout == Layout::kFixed;
  if (values.length != 0 || to.column.heap >= 0) {
    write_values(values, RowList{resolved.rows}, count, resolved, to);
  } else if (is_fixed) {  // all are NULL, and no value can be read in their place
    std::memset(to.values, 0, size_t{count} * static_cast<size_t>(to.width_bytes));
  }
  if (to.validity == nullptr) return;
  put_bits(to.validity, to.bit, count, [&](uint32_t begin, uint32_t part) {
    const uint64_t low = resolved.valid[begin / 64] >> (begin % 64);
    const uint32_t left = 64 - begin % 64;
    return part <= left ? low : low | resolved.valid[begin / 64 + 1] << left;
  });
}

template <class Rows>
void write_column(const DataType& type,
                  const ColumnView& from,
                  const Rows& rows,
                  uint32_t count,
                  const ColumnPlace& to) {
  if (type.id != TypeId::kDictionary) return write_plain(from, rows, count, to);
  const int64_t first = to.offset == nullptr ? 0 : *to.offset;
  in_resolved_blocks(
      type, from, rows, count, [&](uint32_t begin, uint32_t part, const ResolvedRows& resolved) {
        ColumnPlace place = to;
        place.values += size_t{begin} * static_cast<size_t>(to.width_bytes);
        if (to.offset != nullptr) place.heap += *to.offset - first;
        place.bit += begin;
        write_resolved(*from.dictionary, resolved, part, place);
      });
}

// Bytes that a row takes in the heap of a column of strings.
template <class Rows>
void add_heap_bytes(const BulkColumn& column,
                    const DataType& type,
                    const ColumnView& from,
                    const Rows& rows,
                    std::span<int64_t> bytes) {
  const bool is_view = column.layout == Layout::kViews;
  const auto in_heap = [is_view](uint64_t size) {
    return static_cast<int64_t>(is_view && size <= kInlineBytes ? 0 : size);
  };
  const auto count = static_cast<uint32_t>(bytes.size());
  if (type.id == TypeId::kDictionary) {
    in_resolved_blocks(
        type, from, rows, count, [&](uint32_t begin, uint32_t part, const ResolvedRows& some) {
          with_strings(column.layout, *from.dictionary, [&](const auto& strings) {
            for (uint32_t i = 0; i < part; ++i) {
              if (some(i)) bytes[begin + i] += in_heap(strings.size(some.rows[i]));
            }
          });
        });
    return;
  }
  with_strings(column.layout, from, [&](const auto& strings) {
    for (uint32_t i = 0; i < count; ++i) {
      if (from.is_valid(rows[i])) bytes[i] += in_heap(strings.size(rows[i]));
    }
  });
}

}  // namespace

template <class Rows>
void LaneWriter::write_rows(const Rows& rows, uint32_t count, RowPlace& place) const {
  CD_CHECK(count <= kWriterRows, "{} rows", count);
  const auto lane_at = [&](int lane) {
    const int64_t width = plan_->lanes[static_cast<size_t>(lane)].width_bytes;
    return place.memory + place.layout->begin[static_cast<size_t>(lane)] + place.row * width;
  };
  const auto bits_of = [&](int lane) {
    return place.bits + plan_->lanes[static_cast<size_t>(lane)].ordinal * place.bit_words;
  };
  for (const BulkWord& word : plan_->words) {
    write_words({*plan_, word, *block_}, rows, count, lane_at(word.lane));
  }
  size_t text = 0;
  for (size_t i = 0; i < plan_->columns.size(); ++i) {
    const BulkColumn& column = plan_->columns[i];
    ColumnPlace to{column, column.width_bytes, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
    to.bit = static_cast<uint64_t>(place.bit);
    if (column.validity >= 0) to.validity = bits_of(column.validity);
    if (column.lane >= 0 && column.layout == Layout::kBits) to.bits = bits_of(column.lane);
    if (column.lane >= 0 && column.layout != Layout::kBits) to.values = lane_at(column.lane);
    int64_t first = 0;
    if (column.heap >= 0) {
      to.heap = place.memory + place.layout->begin[static_cast<size_t>(column.heap)] +
                place.heap_at[text];
      to.offset = &place.offsets[text];
      first = *to.offset;
    }
    write_column(plan_->sent->fields[i].type, block_->columns[i], rows, count, to);
    if (column.heap >= 0) {
      place.heap_at[text] += *to.offset - first;
      ++text;
    }
  }
  place.row += count;
  place.bit += count;
}

void LaneWriter::write(std::span<const uint32_t> rows, RowPlace& place) const {
  if (!rows.empty()) write_rows(RowList{rows.data()}, static_cast<uint32_t>(rows.size()), place);
}

void LaneWriter::write_run(uint32_t first, uint32_t count, RowPlace& place) const {
  if (count != 0) write_rows(RowRun{first}, count, place);
}

template <class Rows>
uint32_t LaneWriter::count_fitting(const Rows& rows,
                                   uint32_t count,
                                   std::span<const int64_t> room_bytes) const {
  uint32_t fits = count;
  size_t text = 0;
  for (size_t i = 0; i < plan_->columns.size(); ++i) {
    const BulkColumn& column = plan_->columns[i];
    if (column.heap < 0) continue;
    std::vector<int64_t> bytes(fits);
    add_heap_bytes(column, plan_->sent->fields[i].type, block_->columns[i], rows, bytes);
    int64_t left = room_bytes[text++];
    for (uint32_t row = 0; row < fits; ++row) {
      left -= bytes[row];
      if (left < 0) fits = row;
    }
  }
  return fits;
}

uint32_t LaneWriter::fitting(std::span<const uint32_t> rows,
                             std::span<const int64_t> room_bytes) const {
  return count_fitting(
      segments::filling::RowList{rows.data()}, static_cast<uint32_t>(rows.size()), room_bytes);
}

uint32_t LaneWriter::fitting_run(uint32_t first,
                                 uint32_t count,
                                 std::span<const int64_t> room_bytes) const {
  return count_fitting(segments::filling::RowRun{first}, count, room_bytes);
}

std::vector<int64_t> LaneWriter::heap_bytes_of(uint32_t row) const {
  std::vector<int64_t> all;
  for (size_t i = 0; i < plan_->columns.size(); ++i) {
    const BulkColumn& column = plan_->columns[i];
    if (column.heap < 0) continue;
    int64_t bytes = 0;
    add_heap_bytes(column,
                   plan_->sent->fields[i].type,
                   block_->columns[i],
                   segments::filling::RowRun{row},
                   std::span(&bytes, 1));
    all.push_back(bytes);
  }
  return all;
}

}  // namespace crossdock::bulk
