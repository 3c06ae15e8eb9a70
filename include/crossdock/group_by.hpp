// Group-by for C++: one row per distinct combination of keys, with what its rows add up to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <crossdock/operation.hpp>

namespace crossdock {

struct AggregateItem {
  // count sum min max mean var stddev first last any arg_min arg_max bool_and bool_or count_distinct
  // mode entropy approx_distinct quantile quantile_exact quantile_disc mad bit_and bit_or bit_xor product skewness
  // kurtosis kurtosis_pop
  std::string function;
  std::string column;           // "": rows (count only)
  std::string filter;           // "", or a bool column: rows where it is not true do not count
  std::string name;             // in the result
  bool wide = false;            // sums of integers as decimal128(38, 0)
  std::string floats = "fast";  // sums of floats: fast (in order of arrival) or exact
  int ddof = 1;                 // var, stddev: divisor n - ddof
  double quantile = 0.5;        // 0 to 1
  std::string by = {};          // arg_min, arg_max: the column that rows are compared by
  bool ignore_nulls = true;     // all of a row: false: the value of the row, NULL or not
  bool last_of_equals = false;  // arg_min, arg_max: of rows that compare equal the last one
};

struct GroupByOptions {
  std::vector<std::string> keys;  // none: one row for the whole table
  std::vector<AggregateItem> aggregates;
  std::string strategy = "auto";  // auto table radix adaptive dense sorted
  int64_t batch_rows = 0;         // of an output batch; 0 = default (65,536)
};

// Keys first, then aggregates. NULLs form a group, -0.0 = 0.0, NaN = NaN; the order of rows is not
// defined. Aggregates leave NULLs out; of no values they are NULL (counts, entropy: 0). Sums of integers that
// do not fit 64 bits are CD-303, decimals beyond 38 digits too. Approximate: approx_distinct (standard
// error 1.6 %, exact up to 192 values), quantile (0.1 % of the value, exact up to 512 values; of dates and
// times: of the distance from the column's earliest; NaN is left out). quantile_exact and quantile_disc keep
// all values, eight bytes each (decimals of more than 18 digits: 16), and have NaN above them; so has arg_max, which
// gives the first of equal rows.
class GroupBy : public Operation {
 public:
  GroupBy(const Engine& engine, const ArrowTable& table, const GroupByOptions& options);
};

}  // namespace crossdock
