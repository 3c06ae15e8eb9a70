#include "data/channels/sent_part.hpp"

#include <algorithm>

namespace crossdock::channels {

Batch sent_part(const Batch& rows, int64_t begin) {
  Batch part;
  part.schema = rows.schema;
  part.rows = std::min(kRowsPerSend, rows.rows - begin);
  for (const ColumnView& column : rows.columns) {
    part.columns.push_back(slice(column, begin, part.rows));
    if (column.null_count == 0) part.columns.back().null_count = 0;
  }
  part.owner = rows.owner;
  return part;
}

}  // namespace crossdock::channels
