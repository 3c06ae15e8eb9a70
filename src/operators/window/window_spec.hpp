// What a window is asked for: partitions, the order in them, and functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "operators/group_by/group_spec.hpp"
#include "operators/sort/sort_spec.hpp"
#include "table/schema.hpp"

namespace crossdock::operators {

enum class WindowFunction : uint8_t {
  kRowNumber,
  kRank,
  kDenseRank,
  kPercentRank,
  kCumeDist,
  kNtile,
  kLag,
  kLead,
  kFirstValue,
  kLastValue,
  kNthValue,
  kHasLag,  // whether there is the row that lag reads
  kHasLead,
  kStringAgg,  // of a frame; without one of a partition, in its first row, NULL in the others
  kCountDistinct,
  kQuantileExact,  // of numbers between the two nearest ones, in proportion
  kQuantileDisc,   // the first value up to which at least the share lies
  kFrameBegin,     // the number of the frame's first row among all rows, and of the one behind it
  kFrameEnd,
  kCount,  // of rows without a column, of values with one
  kSum,
  kMean,
  kVar,
  kStddev,
  kMin,
  kMax,
  kBoolAnd,
  kBoolOr,
  kBitAnd,
  kBitOr,
  kBitXor,
  kProduct,
  kSkewness,
  kKurtosis,
  kKurtosisPop,
};

const char* window_function_name(WindowFunction function);
// Error kInvalidArgument proposes the nearest name and lists all.
Result<WindowFunction> parse_window_function(std::string_view name);

enum class FrameUnit : uint8_t { kRows, kRange, kGroups };

// One end of a frame, counted from the current row: negative comes before it.
struct FrameBound {
  bool unbounded = false;
  int64_t offset = 0;  // rows, groups, or the order key's own unit
  double real = 0;     // of a range over floats
  int column = -1;     // of a range: the values it reaches to, which mostly rise with the key
  friend bool operator==(const FrameBound&, const FrameBound&) = default;
};

// What a frame leaves out; ties are the rows that are equal to the current one, without itself.
enum class FrameExclusion : uint8_t { kNone, kCurrentRow, kGroup, kTies };

struct WindowFrame {
  FrameUnit unit = FrameUnit::kRows;
  FrameBound start;
  FrameBound end;
  FrameExclusion exclusion = FrameExclusion::kNone;
  friend bool operator==(const WindowFrame&, const WindowFrame&) = default;

  bool is_partition() const {
    return start.unbounded && end.unbounded && exclusion == FrameExclusion::kNone;
  }
};

struct WindowItem {
  WindowFunction function = WindowFunction::kRowNumber;
  int column = -1;  // -1: none
  std::string name;
  int64_t n = 1;              // ntile, lag, lead, nth_value
  bool ignore_nulls = false;  // of the value functions
  std::string text;           // string_agg: what stands between two strings
  bool wide = false;          // sums of integers as decimal128(38, 0)
  int ddof = 1;               // var, stddev: the divisor is n - ddof
  double share = 0.5;         // quantile_exact, quantile_disc
  // None: up to the current row and those equal to it in the order; without an order, all rows.
  std::optional<WindowFrame> frame;
};

struct WindowSpec {
  std::vector<int> partition;
  std::vector<SortKey> orders;
  std::vector<WindowItem> items;
  int position =
      -1;  // a column that orders rows which are equal to all functions; -1: as they come

  // So many rows of each partition are asked for, the first ones of its order; others may be left out. -1: all. Only
  // with row numbers and ranks, or as one row with the first values of partitions, or the last ones.
  int64_t first_rows = -1;

  WindowFrame frame_of(const WindowItem& item) const;
};

// The columns of the input, then one per item. Errors: kInvalidArgument, kDuplicateColumn, kUnsupportedType.
Result<SchemaPtr> window_schema(const WindowSpec& spec, const Schema& input);

// A group-by with the partitions and aggregates of a window that has no other functions.
GroupSpec groups_of(const WindowSpec& spec);

bool is_value_function(WindowFunction function);  // gives a value of the column as it is
bool is_window_aggregate(WindowFunction function);

}  // namespace crossdock::operators
