// Late materialization: builds an output column from row references.
#pragma once

#include <memory>
#include <span>

#include "base/result.hpp"
#include "memory/budget.hpp"
#include "table/row_store.hpp"

namespace crossdock {

// A column and the memory behind it.
struct OwnedColumn {
  ColumnView view;
  std::shared_ptr<const void> owner;
};

// out[i] = column[refs[i]], null where refs[i] is kNullRef or the row is null. The result has the
// column's own type. Fixed widths are copied; views are copied and their heaps shared (never the
// bytes); offset strings are measured first, then copied once into a heap of exactly their size;
// dictionaries are shared. A validity bitmap is made only if there can be nulls.
// utf8/binary with 32-bit offsets: error kValueOutOfRange when one output would pass 2^31 - 1 bytes
// (callers keep batches small enough; the text says to use large_utf8).
// `keep` must own the buffers the result shares (heaps, dictionaries).
Result<OwnedColumn> gather(const ChunkedColumn& column,
                           std::span<const RowRef> refs,
                           const std::shared_ptr<const void>& keep,
                           Memory& memory);

}  // namespace crossdock
