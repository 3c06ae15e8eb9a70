// The rows of a rank as a bulk exchange walks over them: in runs per worker, and in blocks that stay in the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "table/column.hpp"

namespace crossdock::bulk {

// Rows [begin, end) of a table, over all its batches.
struct RowSpan {
  int64_t begin = 0;
  int64_t end = 0;
};

// A part of one batch, as a batch; `first_row` is its first row's number in the table.
struct RowBlock {
  Batch rows;
  int64_t first_row = 0;
};

// Walks over rows of a table. One thread at a time; cheap to copy.
class TableRows {
 public:
  explicit TableRows(const Table& table) : table_(&table) {
    int64_t first = 0;
    for (const Batch& batch : table.batches) {
      firsts_.push_back(first);
      first += batch.rows;
    }
    firsts_.push_back(first);
  }

  int64_t rows() const { return firsts_.back(); }

  // The share of worker w of `workers`: runs of about equal length, in the order of workers.
  RowSpan share(int worker, int workers) const {
    const auto part = [&](int64_t w) {
      return rows() / workers * w + std::min(w, rows() % workers);
    };
    return {part(worker), part(worker + 1)};
  }

  // Calls `call(RowBlock)` for blocks of up to `block_rows` rows, in order, none of which crosses a batch.
  template <class Call>
  Status for_blocks(RowSpan span, int64_t block_rows, const Call& call) const {
    auto at = static_cast<size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), span.begin) -
                                  firsts_.begin() - 1);
    int64_t row = span.begin;
    while (row < span.end) {
      while (firsts_[at + 1] <= row) ++at;
      const int64_t end = std::min({span.end, firsts_[at + 1], row + block_rows});
      CD_TRY(call(RowBlock{part_of(table_->batches[at], row - firsts_[at], end - row), row}));
      row = end;
    }
    return {};
  }

  static Batch part_of(const Batch& batch, int64_t begin, int64_t rows) {
    Batch part{batch.schema, rows, {}, batch.owner};
    part.columns.reserve(batch.columns.size());
    for (const ColumnView& column : batch.columns) {
      part.columns.push_back(slice(column, begin, rows));
      if (column.null_count == 0) part.columns.back().null_count = 0;
    }
    return part;
  }

 private:
  const Table* table_;
  std::vector<int64_t> firsts_;  // by batch: the number of its first row; and the end
};

}  // namespace crossdock::bulk
