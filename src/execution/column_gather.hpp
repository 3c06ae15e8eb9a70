// Reads columns of a block: rows of a batch by number, or rows of a store by reference, as values side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "execution/block.hpp"
#include "table/column.hpp"

namespace crossdock::execution {

// Sources and build sides may have decimals in 64 bits: ColumnView::is_narrow, and in a store columns of int64. Who
// reads blocks gets them 128 bits wide, as the type says, unless it knows of both.
enum class Decimals : uint8_t { kWide, kAsStored };

// Memory for up to kBlockRows values of one column. One owner; views are valid until the next call.
class ColumnBuffer {
 public:
  explicit ColumnBuffer(DataType type, Decimals decimals = Decimals::kWide);

  // Rows [begin, begin + count) of a column of a batch; nothing is copied that need not be widened.
  ColumnView take(const ColumnView& column, int64_t begin, int32_t count);
  // Values of rows[0], rows[1], ... of a column of a batch.
  ColumnView gather(const ColumnView& column, const uint32_t* rows, int32_t count);
  // The same from a store; kNullRef gives a null.
  ColumnView gather(const ChunkedColumn& column, const RowRef* refs, int32_t count);

  // Nulls.
  ColumnView nulls(int32_t count);

  // Appends values of a computed column behind the first `at`: a fixed layout, bits, or views, with their strings.
  void append(const ColumnView& column, const uint16_t* rows, int32_t count, int32_t at);
  // The first `count` of what was appended.
  ColumnView appended(int32_t count);

 private:
  template <class Rows>
  ColumnView gather_from(const Rows& rows, int32_t count);
  template <class Rows>
  ColumnView gather_narrow(const Rows& rows, int32_t count);
  template <class Rows>
  void gather_validity(const Rows& rows, int32_t count, ColumnView& out);
  template <class Rows, class Offset>
  void gather_strings(const Rows& rows, int32_t count, ColumnView& out);
  void copy_strings(const ColumnView& column, uint8_t* views, int32_t count);

  DataType type_;
  Decimals decimals_;
  Layout layout_;
  int32_t width_;
  std::vector<uint64_t> values_;
  std::vector<uint64_t> validity_;
  std::vector<uint64_t> offsets_;
  std::vector<uint8_t> bytes_;
  bool any_null_ = false;  // among what was appended
  // Strings of appended views: each is a heap of its own, which begins so many bytes behind bytes_.
  std::vector<int64_t> string_begins_;
  std::vector<int64_t> string_bytes_;
  std::vector<const uint8_t*> heaps_;
};

// Some columns of blocks of one schema as a batch. One per worker and stage.
class FlatColumns {
 public:
  // `columns`: those that are loaded; the others have no memory in the batch.
  FlatColumns(const BlockSchema& schema,
              std::vector<int> columns,
              Decimals decimals = Decimals::kWide);

  // The block's rows; where its rows lie side by side, nothing is copied. Valid until the next call.
  const Batch& load(const RowBlock& block);

 private:
  ColumnView load_column(size_t i, const RowBlock& block);

  std::vector<int> columns_;
  std::vector<ColumnPlace> places_;  // of columns_
  std::vector<ColumnBuffer> buffers_;
  Batch batch_;
};

}  // namespace crossdock::execution
