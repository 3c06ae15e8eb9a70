// Blocks: what moves through the stages of a pipeline.
//
// A block is up to 1,024 rows, and says of each table that they come from which rows they are: it holds row numbers,
// no values. A filter drops numbers, a join adds those of its build side, and a column is read when something computes
// with it or when the rows leave the pipeline. So a column that only the result needs is read once, for the rows that
// are left, and small blocks become large ones for four bytes a row and origin.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "table/row_store.hpp"

namespace crossdock::execution {

// Words, selections and columns of a block stay in the first-level cache; the operators' kernels have the same limit.
constexpr int32_t kBlockRows = 1024;

// Which rows of one batch, or of one row store, the rows of a block are made of. Neither a batch nor a store: the rows
// are those of an outer join that have no partner, and all columns of the origin are null.
struct Origin {
  const Batch* batch = nullptr;
  RowRef first_ref = kNullRef;  // of the batch's row 0, where the batch is one of a frozen store
  int64_t begin = 0;            // without `rows`: begin, begin + 1, ... of the batch
  const RowStore* store = nullptr;  // instead of a batch
  const uint32_t* rows =
      nullptr;  // rows of the batch; or refs into the store, kNullRef for a row of nulls

  bool is_missing() const { return batch == nullptr && store == nullptr; }
};

struct RowBlock {
  int32_t rows = 0;
  int64_t morsel = 0;  // of the source; ascending where the order of rows is that of the source
  std::vector<Origin> origins;
  std::vector<ColumnView> computed;  // `rows` values each
};

// Where the values of a pipeline's column come from, at some point of it.
struct ColumnPlace {
  int origin = -1;  // -1: computed
  int column = 0;   // of the origin's schema, or of RowBlock::computed
  friend bool operator==(const ColumnPlace&, const ColumnPlace&) = default;
};

// What blocks look like between two stages.
struct BlockSchema {
  SchemaPtr schema;                 // the columns, as the plan sees them
  std::vector<ColumnPlace> places;  // by column
  std::vector<bool> nullable;       // by origin: rows may be missing (outer joins)
  std::vector<const RowStore*>
      stores;  // by origin: of the table or build side; nullptr: batches come one by one
  std::vector<DataType> computed;  // types of RowBlock::computed
};

// Takes blocks. Called from all workers at once, each with its number; blocks are the caller's, and
// valid during the call.
class BlockSink {
 public:
  virtual ~BlockSink() = default;
  virtual Status push(int worker, const RowBlock& block) = 0;
  // The batch that the worker's blocks came from will be gone: what refers to it must be passed on.
  virtual Status flush(int worker) = 0;
};

}  // namespace crossdock::execution
