// What a table's columns are on the way of a bulk exchange, and in the window where they end.
//
// A window is cut into lanes: one per column of fixed width, as Arrow has it; for strings one of offsets (or views) and
// one of bytes; one of bits per column of booleans, and per column in which some rank has NULLs. Integers may share
// lanes instead, packed: each as its distance from the smallest value that any rank has, in the bits that the largest
// distance takes (frame of reference), several of them in one word of 64 bits of which only the bytes in use travel.
// Barthels et al. (PVLDB 10(5), 2017, section 4.1.2) pack a key and a row number of 38 bits each into 64, since the
// partition says the bits that are missing; here the ranges are looked up instead of supposed, so that any integer
// columns pack, and values beyond are impossible instead of wrong.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "table/column.hpp"
#include "table/schema.hpp"

namespace crossdock::bulk {

// How wide the values of an integer column are, over all ranks. Unsigned ones are moved by 2^63, so that all compare
// as signed.
struct ValueRange {
  int64_t min = INT64_MAX;
  int64_t max = INT64_MIN;

  bool is_empty() const { return min > max; }
  // Bits of the largest distance from min.
  int bits() const;
};

enum class LaneKind : uint8_t {
  kRows,  // width_bytes for each row
  kHeap,  // bytes of strings
  kBits,  // bits of rows, in words of 64; those of a cell begin with a word of their own
};

struct BulkLane {
  LaneKind kind = LaneKind::kRows;
  int32_t width_bytes = 0;  // kRows: 1 to 16
  int ordinal = 0;          // among the lanes of its kind
};

struct BulkColumn {
  Layout layout = Layout::kFixed;
  int32_t width_bytes = 0;  // of a value, an offset or a view
  int lane = -1;            // of values, offsets, views or bits; -1: in a word
  int heap = -1;            // lane of bytes
  int validity = -1;        // lane of bits; -1: no rank has a NULL
  int shift = 0;            // in its word
  int bits = 0;
  int64_t base = 0;  // as ValueRange counts
};

// Integers that share a lane.
struct BulkWord {
  int lane = 0;
  int bytes = 0;  // that travel, 0 to 8; 0: every row has the same values
  std::vector<int> columns;
};

// Alike in all ranks; immutable.
struct BulkPlan {
  SchemaPtr sent;      // of this rank's rows
  SchemaPtr received;  // dictionaries are their values
  std::vector<BulkColumn> columns;
  std::vector<BulkWord> words;
  std::vector<BulkLane> lanes;
  std::vector<int> row_lanes;  // lanes by kind and ordinal
  std::vector<int> heap_lanes;
  std::vector<int> bit_lanes;

  // Bytes of a row without strings, as Arrow has it and as it travels; bits count by eighths, rounded up.
  int64_t plain_row_bytes() const;
  int64_t sent_row_bytes() const;
};

// What all ranks found out before: of each column.
struct SeenColumn {
  bool has_nulls = false;
  bool packs = false;  // its values were looked at, in all ranks
  ValueRange range;
};

// Whether the values of a column can be looked at for packing: integers, dates, times, instants and durations that are
// no dictionary.
bool can_pack(const DataType& type);
// min and max of the values that are not NULL, widened by those of rows [begin, begin + count).
void widen(const DataType& type,
           const ColumnView& column,
           int64_t begin,
           int64_t count,
           ValueRange& range);

// One for each column. `packs`: integers whose range is known share words where that takes fewer bytes.
BulkPlan plan_bulk(SchemaPtr sent, std::span<const SeenColumn> seen, bool packs);

// Where lanes begin in memory for so many rows, words of bits and bytes of strings.
struct WindowShape {
  int64_t rows = 0;
  int64_t bit_words = 0;
  std::vector<int64_t> heap_bytes;  // by ordinal
};
struct WindowLayout {
  std::vector<int64_t> begin;  // by lane; multiples of 64
  int64_t bytes = 0;
};
WindowLayout lay_out(const BulkPlan& plan, const WindowShape& shape);

}  // namespace crossdock::bulk
