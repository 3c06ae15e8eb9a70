// Rows kept by reference: batches stay where they are, and a 32-bit RowRef names any row of them.
//
// A ref is (chunk, row): every 2^14 rows of a batch are one chunk, and the chunks of a batch are
// numbered in a row, so row i of a batch has ref `first + i` and a lookup is one table load, however
// many batches there are. Limits: 2^18 chunks, so 4.29 G rows in large batches; a batch always takes
// at least one chunk.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.hpp"
#include "table/column.hpp"

namespace crossdock {

using RowRef = uint32_t;
constexpr int kChunkRowBits = 14;
constexpr RowRef kChunkRowMask = (RowRef{1} << kChunkRowBits) - 1;
constexpr RowRef kNullRef = UINT32_MAX;  // names no row: the missing side of an outer join

// Bits of one chunk: row r of the chunk is bit `shift + r` of `bits`.
struct ChunkBits {
  const uint8_t* bits = nullptr;
  uint32_t shift = 0;
};

// Strings of one chunk in an offsets layout. The offset of a ref lies at
// `offsets + ref * sizeof(offset)`; what it counts from is `bytes`; [bytes, end) may be read.
struct ChunkStrings {
  uintptr_t offsets = 0;
  const uint8_t* bytes = nullptr;
  uintptr_t end = 0;
};

// The variadic buffers of all batches of a view column, one after the other.
struct ViewHeaps {
  std::vector<const uint8_t*> data;
  std::vector<int64_t> bytes;
};

// One column of a RowStore: `chunk(ref)` is a view whose element `ref & kChunkRowMask` is the row.
//
// The other arrays hold, per chunk, only what random access needs (8 to 24 bytes instead of a whole
// view), so that the lookups of a 100 M row table stay in the first-level cache.
struct ChunkedColumn {
  const Field* field = nullptr;
  std::vector<ColumnView> chunks;
  bool any_nulls = false;  // some chunk has a validity bitmap

  // kFixed and kViews: the value of a ref lies at `origins[ref >> 14] + ref * width`. The ref is not
  // masked: an origin lies that much before its chunk, so chunks of one batch have the same origin.
  std::vector<uintptr_t> origins;
  bool one_origin = false;            // all origins are the same: no lookup
  std::vector<ChunkBits> validity;    // if any_nulls; chunks without a bitmap point at set bits
  std::vector<ChunkBits> bits;        // kBits: the values
  std::vector<ChunkStrings> strings;  // kOffsets32, kOffsets64
  std::vector<uint32_t> first_heap;   // kViews: position in `heaps` of the chunk's buffer 0
  bool one_heap_list = true;          // kViews: first_heap is 0 everywhere
  std::shared_ptr<const ViewHeaps> heaps;  // kViews
  const ColumnView* dictionary = nullptr;  // kDictionary: shared by all batches; empty if no batch
  RowRef any_ref = kNullRef;               // some row that exists; kNullRef if there is none

  const ColumnView& chunk(RowRef ref) const { return chunks[ref >> kChunkRowBits]; }
};

class RowStore {
 public:
  explicit RowStore(SchemaPtr schema);

  // Keeps `batch` and answers the ref of its first row. Thread-safe. Batches of a dictionary column
  // must share the dictionary's values (table/dictionary.hpp). Error kTooManyRows when the refs are
  // used up: names rows, batches and the limit, and proposes larger batches.
  Result<RowRef> add(Batch batch);

  // Ends adding and makes `column()` usable. Not thread-safe; call once, after all adds.
  void freeze();

  const SchemaPtr& schema() const { return schema_; }
  const ChunkedColumn& column(int index) const { return columns_[index]; }
  const std::vector<Batch>& batches() const { return batches_; }
  RowRef first_ref(int batch) const { return first_refs_[batch]; }
  // The batch of `ref`, and the ref's row within it. Batches must have been added by one thread.
  const Batch* batch_of(RowRef ref, int64_t* row) const;
  int64_t rows() const { return rows_; }

 private:
  SchemaPtr schema_;
  std::mutex mutex_;
  std::vector<Batch> batches_;
  std::vector<RowRef> first_refs_;
  uint64_t next_chunk_ = 0;
  int64_t rows_ = 0;
  std::vector<ChunkedColumn> columns_;
};

}  // namespace crossdock
