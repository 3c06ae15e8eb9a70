// Window functions for C++: what a plan adds to each row from others of its partition (query.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <crossdock/sort.hpp>

namespace crossdock {

// The rows that a function sees: from `start` to `end`, both included, counted from the current row; without a value,
// from or to the end of the partition. unit: "rows"; "groups" of rows that are equal in the order; or "range", of the
// values of the one order key: for floats `start_real` and `end_real` count, for decimals in units of the last digit.
struct FrameOptions {
  std::string unit = "rows";
  std::optional<int64_t> start;
  std::optional<int64_t> end;
  double start_real = 0;
  double end_real = 0;
  // Columns of the values that a range reaches to, in the place of distances; they mostly rise with the order key.
  // "" = none.
  std::string start_column;
  std::string end_column;
  // Of these rows "current row", the "group" that is equal to it in the order, or "ties", the group without the row.
  // "" = nothing.
  std::string exclude;
};

struct WindowFunctionItem {
  std::string
      function;  // row_number rank dense_rank percent_rank cume_dist ntile lag lead has_lag has_lead
  // first_value last_value nth_value string_agg count_distinct quantile_exact quantile_disc frame_begin frame_end count
  // sum mean var stddev min max bool_and bool_or bit_and bit_or bit_xor product skewness kurtosis kurtosis_pop
  std::string column;  // "" = none
  std::string name;    // of the result's column
  int64_t n = 1;       // parts of ntile, rows of lag and lead, the row of nth_value
  std::string text;    // what stands between two strings of string_agg
  bool ignore_nulls = false;
  bool wide = false;  // sums of integers as decimal128(38, 0)
  int ddof = 1;       // var, stddev: divisor n - ddof
  double q = 0.5;     // quantile_exact, quantile_disc
  std::optional<FrameOptions>
      frame;  // none: up to the current row and its equals, or all without an order
};

struct WindowOptions {
  std::vector<std::string> partition_by;
  std::vector<OrderItem> order_by;
  std::vector<WindowFunctionItem> functions;
  std::string
      position;  // a column that orders rows which are equal to all functions; "" = as they come
  // Rows of each partition that are asked for, by its order: others may be left out. -1 = all. Only with row_number
  // and rank, or 1 with first_value or last_value of whole partitions.
  int64_t first_rows = -1;
};

}  // namespace crossdock
