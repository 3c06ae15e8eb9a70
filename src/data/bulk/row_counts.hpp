// The histogram of a bulk exchange: how many rows, and how many bytes of strings, go where.
//
// Each worker counts its own run of rows; nothing is shared between threads. Where a row goes is kept (2 bytes per
// row), since the second pass over the rows would have to read and hash their keys again. Barthels et al. count in one
// thread per process; here the counts of a rank's workers are added up before they travel, so that messages do not
// grow with threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/team.hpp"
#include "data/bulk/bulk_plan.hpp"
#include "data/bulk/bulk_rows.hpp"
#include "data/sorters/row_router.hpp"
#include "memory/budget.hpp"

namespace crossdock::bulk {

// What a run of rows sends: by destination, rows and then the bytes of each column of strings.
struct RowChunk {
  RowSpan span;
  int worker = 0;  // that counted them
  std::vector<int64_t> counts;
};

struct CountingOptions {
  // Where rows go: by a rule, or named for each; neither: all rows go to each destination.
  const sorters::RouteSpec* route = nullptr;
  std::span<const uint16_t> named{};
  int destinations = 1;
  bool looks_at_ranges = false;  // of integers
  // A chunk has at most so many rows (or a block of them, if that is more), and so many bytes of one column of strings
  // whose offsets have 32 bits (or one row, if its text is longer).
  int64_t chunk_rows = INT64_C(1) << 30;
  int64_t chunk_text_bytes = INT64_C(1) << 30;
};

struct RowCounts {
  std::vector<RowChunk> chunks;            // in the order of rows
  std::vector<SeenColumn> seen;            // by column; of this rank
  const uint16_t* destinations = nullptr;  // by row; null if there is no choice
  Block destination_block;                 // where they lie, if a rule said them
  int counted_destinations = 1;            // 1 if all rows go to each destination
  int strings = 0;                         // columns of strings

  int64_t per_destination() const { return 1 + strings; }
};

// CD-201; errors of RowRouter; CD-105 if as many destinations are not named as there are rows, CD-303 if one is none.
Result<RowCounts> count_rows(const TableRows& rows,
                             const SchemaPtr& schema,
                             const CountingOptions& options,
                             Team& team,
                             Memory& memory);

}  // namespace crossdock::bulk
