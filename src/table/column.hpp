// Views of Arrow columns: pointers into memory that another object owns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "table/schema.hpp"

namespace crossdock {

// One column of one batch. Element i of the view is element `offset + i` of every buffer.
// Plain data: copying it copies no values; valid while the owner of its Batch lives.
// Imported columns: `values` and `offsets` are never null, offsets has at least one entry, and all
// are aligned to their width, but to 8 only for 16-byte values (decimals, views).
struct ColumnView {
  int64_t length = 0;
  int64_t offset = 0;
  int64_t null_count = 0;             // -1 = not counted; 0 implies validity == nullptr
  const uint8_t* validity = nullptr;  // bit per element, 1 = value; nullptr = no nulls
  const uint8_t* values = nullptr;    // fixed: values; bits: bitmap; offsets: bytes; views: views
  const void* offsets = nullptr;      // int32_t or int64_t, length + 1 entries from `offset`
  const uint8_t* const* heaps = nullptr;  // kViews: the variadic buffers
  const int64_t* heap_bytes = nullptr;    // kViews: their sizes
  int32_t heap_count = 0;
  const ColumnView* dictionary = nullptr;  // kDictionary: the values (never a dictionary itself)
  int64_t longest_text = -1;               // no text of the view has more bytes; -1 = not known
  bool is_narrow = false;  // decimals in 64 bits: only inside pipelines, no table has them

  bool is_valid(int64_t row) const {
    if (validity == nullptr) return true;
    const int64_t bit = offset + row;
    return (validity[bit >> 3] >> (bit & 7)) & 1;
  }
  template <class T>
  const T* data() const {  // fixed layout: first value of the view
    return reinterpret_cast<const T*>(values) + offset;
  }
};

// A run of rows. `owner` keeps every pointer of `columns` alive; it is shared, so slices and
// outputs that pass columns through unchanged cost nothing.
struct Batch {
  SchemaPtr schema;
  int64_t rows = 0;
  std::vector<ColumnView> columns;
  std::shared_ptr<const void> owner;
};

// The same rows [begin, begin + count) of a column, without copying. Null counts become unknown.
ColumnView slice(const ColumnView& column, int64_t begin, int64_t count);

// Whether two columns of one type are the same elements of the same memory (dictionaries aside).
bool same_memory(const ColumnView& a, const ColumnView& b);

// Bytes of the buffers that the rows of a batch use; views are counted with their heaps.
int64_t buffer_bytes(const Batch& batch);

class ColumnZones;

// An immutable table: batches of one schema. Thread-safe to read.
struct Table {
  SchemaPtr schema;
  std::vector<Batch> batches;
  int64_t rows = 0;
  std::vector<std::shared_ptr<ColumnZones>> zones = {};  // by column, nullptr: none; empty: of none
  bool values_may_change = false;  // between runs, so that zones are those of one
};
using TablePtr = std::shared_ptr<const Table>;

// The columns of two tables of as many rows side by side, without copying. Batches end where one of either ends.
Table side_by_side(const Table& left, const Table& right);

}  // namespace crossdock
