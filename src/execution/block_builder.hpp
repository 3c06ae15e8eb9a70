// Makes blocks of selected rows of other blocks: what a filter keeps, what a join pairs. Small selections are put
// together into full blocks, which costs four bytes a row and origin.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "execution/block.hpp"
#include "execution/column_gather.hpp"

namespace crossdock::execution {

// One worker's own.
class BlockBuilder {
 public:
  // `input`: of the blocks that rows are taken from. `adds_store`: every row comes with a ref into a store, which is
  // the last origin of the blocks that are made.
  BlockBuilder(const BlockSchema& input, const RowStore* adds_store);

  // Passes rows[0 .. count) of `block`, ascending or not, on to `next` in full blocks; what is left stays until
  // the next call. `refs` beside them if a store was named. All blocks until flush() are of one batch each origin.
  Status put(const RowBlock& block,
             const uint16_t* rows,
             const RowRef* refs,
             int32_t count,
             int worker,
             BlockSink& next);
  // A block of these rows alone, valid until the next call. count <= kBlockRows. Not between put() and flush().
  const RowBlock& make(const RowBlock& block, const uint16_t* rows, const RowRef* refs, int32_t count);
  // Passes on what is left.
  Status flush(int worker, BlockSink& next);

 private:
  void set_computed();
  void append(const RowBlock& block, const uint16_t* rows, const RowRef* refs, int32_t count);

  const RowStore* store_;
  RowBlock pending_;
  std::vector<std::unique_ptr<uint32_t[]>> rows_;  // by origin
  std::vector<ColumnBuffer> computed_;
};

}  // namespace crossdock::execution
