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
