// Slices of columns: the offset moves, the buffers stay.
#include "table/column.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace crossdock {

ColumnView slice(const ColumnView& column, int64_t begin, int64_t count) {
  CD_CHECK(begin >= 0 && count >= 0 && begin <= column.length - count,
           "rows [{}, +{}) of a column of {} rows",
           begin,
           count,
           column.length);
  ColumnView part = column;
  part.offset += begin;
  part.length = count;
  if (column.validity != nullptr && count != column.length) part.null_count = -1;
  return part;
}

Table side_by_side(const Table& left, const Table& right) {
  CD_CHECK(left.rows == right.rows, "{} rows beside {}", left.rows, right.rows);
  auto schema = std::make_shared<Schema>(*left.schema);
  schema->fields.insert(
      schema->fields.end(), right.schema->fields.begin(), right.schema->fields.end());
  Table both{std::move(schema), {}, left.rows};
  int64_t begins[2] = {0, 0};  // in the batches that come next
  size_t next[2] = {0, 0};
  const Table* tables[2] = {&left, &right};
  while (next[0] < left.batches.size() && next[1] < right.batches.size()) {
    const Batch* batches[2] = {&left.batches[next[0]], &right.batches[next[1]]};
    const int64_t rows = std::min(batches[0]->rows - begins[0], batches[1]->rows - begins[1]);
    if (rows > 0) {
      auto owners =
          std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
              batches[0]->owner, batches[1]->owner);
      Batch& batch = both.batches.emplace_back(Batch{both.schema, rows, {}, std::move(owners)});
      for (const int side : {0, 1}) {
        for (const ColumnView& column : batches[side]->columns) {
          const bool is_whole = rows == batches[side]->rows;
          batch.columns.push_back(is_whole ? column : slice(column, begins[side], rows));
        }
      }
    }
    for (const int side : {0, 1}) {
      begins[side] += rows;
      if (begins[side] < tables[side]->batches[next[side]].rows) continue;
      begins[side] = 0;
      ++next[side];
    }
  }
  both.values_may_change = left.values_may_change || right.values_may_change;
  if (!left.zones.empty() && !right.zones.empty()) {
    both.zones = left.zones;
    both.zones.insert(both.zones.end(), right.zones.begin(), right.zones.end());
  }
  return both;
}

bool same_memory(const ColumnView& a, const ColumnView& b) {
  if (a.length != b.length || a.offset != b.offset || a.validity != b.validity ||
      a.values != b.values || a.offsets != b.offsets || a.heap_count != b.heap_count) {
    return false;
  }
  if (a.heaps == b.heaps && a.heap_bytes == b.heap_bytes) return true;
  return std::equal(a.heaps, a.heaps + a.heap_count, b.heaps) &&
         std::equal(a.heap_bytes, a.heap_bytes + a.heap_count, b.heap_bytes);
}

int64_t buffer_bytes(const Batch& batch) {
  int64_t bytes = 0;
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const ColumnView& column = batch.columns[i];
    const DataType& type = batch.schema->fields[i].type;
    if (column.validity != nullptr) bytes += (column.length + 7) / 8;
    switch (layout(type)) {
      case Layout::kBits:
        bytes += (column.length + 7) / 8;
        break;
      case Layout::kFixed:
      case Layout::kViews:
        bytes += column.length * fixed_bytes(type);
        break;
      case Layout::kOffsets32: {
        const auto* offsets = static_cast<const int32_t*>(column.offsets) + column.offset;
        bytes += (column.length + 1) * 4;
        if (column.length > 0) bytes += offsets[column.length] - offsets[0];
        break;
      }
      case Layout::kOffsets64: {
        const auto* offsets = static_cast<const int64_t*>(column.offsets) + column.offset;
        bytes += (column.length + 1) * 8;
        if (column.length > 0) bytes += offsets[column.length] - offsets[0];
        break;
      }
    }
    for (int32_t heap = 0; heap < column.heap_count; ++heap) bytes += column.heap_bytes[heap];
  }
  return bytes;
}

}  // namespace crossdock
