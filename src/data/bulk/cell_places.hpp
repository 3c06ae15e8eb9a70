// Who writes where: counts go to those who receive, places come back.
//
// A rank's rows go in slices, nearly always one; several only where the strings or rows for one destination could pass
// what a batch can hold. A cell is what one source sends one destination in one slice. A destination lays the cells out
// one behind the other, by source and then by slice, and tells each source where its own begin: so every thread of
// every rank knows its places in all windows, exactly, before a byte moves, and rows arrive in the order of sources and
// of their rows. Two all-to-alls of a few numbers per pair, whatever the number of threads and columns of fixed width.
//
// Batches end between cells, where the next would pass the limit. A batch begins at a multiple of 64 rows, and at least
// one row's place is left between two, so that every batch's last offset has a place of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "data/bulk/bulk_plan.hpp"
#include "data/bulk/row_counts.hpp"
#include "data/ranks/communicator.hpp"

namespace crossdock::bulk {

struct BatchLimits {
  int64_t rows = INT32_MAX;
  int64_t text_bytes = INT32_MAX;  // of one column with offsets of 32 bits, or views
};

// Where a cell begins in its destination's window.
struct CellPlace {
  int64_t row = 0;
  int64_t bit_word = 0;  // of each lane of bits
  // By text: the offset that its first row has within its batch, and where its first byte lies in the heap.
  std::vector<int64_t> offsets;
  std::vector<int64_t> heap_at;
};

// One destination, as a source sees it.
struct TargetPlaces {
  WindowShape shape;
  std::vector<CellPlace> cells;  // by slice
  // By slice: among the words of bits that this source has for the target; and the end.
  std::vector<int64_t> cell_bit_word;
};

struct ArrivingCell {
  int64_t row = 0;  // in the window
  int64_t rows = 0;
  int64_t bit_word = 0;
};

struct ArrivingBatch {
  int64_t row = 0;  // in the window; a multiple of 64
  int64_t rows = 0;
  std::vector<int64_t> heap_at;  // by text
  std::vector<int64_t> heap_bytes;
  std::vector<ArrivingCell> cells;
};

// What comes to this rank.
struct Arrivals {
  WindowShape shape;
  std::vector<ArrivingBatch> batches;  // that have rows
  int64_t rows = 0;
};

struct Places {
  std::vector<TargetPlaces> targets;  // by destination
  Arrivals arrivals;
  std::vector<int> slice_of;  // by chunk
  // By chunk: what the chunks before it in its slice send, as RowChunk::counts. Moved there.
  std::vector<std::vector<int64_t>> before;
};

// Lays out what every source says that it sends. Pure; `counts` by source, slice, and 1 + text.
struct CellCounts {
  std::span<const int64_t> counts;
  int slices = 1;
  int strings = 0;
};
Arrivals lay_out_arrivals(
    const CellCounts& cells,
    std::span<const char> is_narrow,  // by text: 1 if its batches have a limit
    const BatchLimits& limits,
    std::vector<CellPlace>& places);

// All ranks call it, with what they counted. destination_ranks[d] is the rank of destination d.
Result<Places> agree_on_places(ranks::Communicator& ranks,
                               const BulkPlan& plan,
                               RowCounts& counts,
                               std::span<const int> destination_ranks,
                               const BatchLimits& limits);

}  // namespace crossdock::bulk
