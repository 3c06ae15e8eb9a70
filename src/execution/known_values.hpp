// What is known of some values of a column, and whether a condition can be true for any of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/int128.hpp"
#include "expressions/expression.hpp"

namespace crossdock::execution {

template <class T>
struct ValueBounds {
  std::optional<T> min;
  std::optional<T> max;
};

struct KnownValues {
  ValueBounds<Int128> whole;  // numbers and instants, in the type of the column
  ValueBounds<double> real;   // NaN aside, which no comparison but != is true for
  ValueBounds<std::string_view>
      text;  // not of values that are cut, unless they are below, or above
  bool may_be_null = true;
  bool may_have_values = true;
};

// A column as a condition compares it: multiplied where the other side has more decimal places. Nothing for other
// expressions.
std::optional<Int128> column_factor(const expressions::Expression& expression);

// False only where the condition, over the one column that the values are of, is true for none of them.
bool can_match(const expressions::Expression& condition, const KnownValues& values);

}  // namespace crossdock::execution
