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

}  // namespace crossdock
