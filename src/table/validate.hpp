// Checks what a producer promised about the contents of variable-length and dictionary columns, so
// that no later loop needs to: offsets ascend from >= 0, views lie inside their heaps, indices
// inside their dictionary. O(rows), touches offsets, views or indices only, never the bytes (so text
// is not known to be UTF-8, and a view's prefix is taken on trust).
#pragma once

#include "base/result.hpp"
#include "table/column.hpp"

namespace crossdock {

// Answers the bytes of the longest text, which the pass learns anyway: for ColumnView::longest_text, -1
// if it is none of text or its null slots may hold any length.
// Error kMalformedArrow names column, row, value and limit. Fixed-width columns pass at once.
// Null slots may hold anything in views and indices; offsets must ascend through nulls too. Short
// views are padded with zeros, so equal short strings are equal in all 16 bytes.
// `known`: a dictionary that passed before and still lives; the column's own is not read again if it
// is that memory.
Result<int64_t> validate_column(const Field& field,
                                const ColumnView& column,
                                const ColumnView* known = nullptr);

}  // namespace crossdock
