// Computed columns and filters for C++: expressions over the columns of a table, as JSON.
//
//   {"call": "multiply", "of": [{"column": "price"}, {"literal": "95", "type": "d:2,2"}]}
//
// is price * 0.95. Functions: add subtract multiply divide floor_divide remainder negate abs; equal
// not_equal less less_equal greater greater_equal; and_kleene or_kleene invert is_null is_valid; is_in
// starts_with ends_with contains like ilike (with "values"); case coalesce greatest least; length lower
// upper concat; strip replace lpad rpad (with "values"), substring (of a string and integers); power
// sqrt exp ln log2 log10 floor ceil round sign is_nan; year quarter month week day day_of_year weekday
// hour minute second date truncate add_months; cast (with "type"). Types are Arrow format strings;
// decimals are given by their digits. Strings that are computed are of the type "vu".
#pragma once

#include <string>
#include <vector>

#include <crossdock/engine.hpp>

namespace crossdock {

struct ComputedColumn {
  std::string name;
  std::string expression;  // JSON
};

struct ComputeOptions {
  std::vector<ComputedColumn> columns;
  std::string where;  // JSON list of conditions, applied in order; "" = none
  std::string mask;   // name of a bool column that says for which rows all conditions are true
};

// The table with computed columns behind its own, which are shared; then the mask, if it has a name.
// No row is dropped; those that are not kept have anything in their computed columns. Throws CD-304
// where a kept row cannot be computed (overflow, division by zero), CD-101 to CD-105 for expressions
// that do not fit the table.
ArrowTable compute_columns(const Engine& engine,
                           const ArrowTable& table,
                           const ComputeOptions& options);

}  // namespace crossdock
