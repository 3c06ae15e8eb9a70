// The least and the greatest of a column's values.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/int128.hpp"
#include "table/value_words.hpp"

namespace crossdock {

// Of whole numbers and instants.
struct ValueRange {
  bool empty = true;  // no value at all
  Int128 min = 0;
  Int128 max = 0;

  void add(Int128 value) {
    min = empty ? value : std::min(min, value);
    max = empty ? value : std::max(max, value);
    empty = false;
  }
  void add(const ValueRange& range) {
    if (range.empty) return;
    add(range.min);
    add(range.max);
  }
  // The rows of a column that have a value. `reader`: of its type, which has the form kSigned, kUnsigned or kWide.
  // count <= kMaxValueRows.
  void add(ValueReader& reader, const ColumnView& column, int64_t begin, int32_t count);
};

}  // namespace crossdock
