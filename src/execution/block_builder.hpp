// Makes blocks of selected rows of other blocks: what a filter keeps, what a join pairs. Small selections are put
// together into full blocks, which costs four bytes a row and origin.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "execution/block.hpp"
#include "execution/column_gather.hpp"

namespace crossdock::execution {

// Some rows of a block, in any order, any of them several times; and with each a ref into a store, where a builder adds
// one.
struct SelectedRows {
  const uint16_t* rows = nullptr;
  int32_t count = 0;
  const RowRef* refs = nullptr;
};

// One worker's own.
class BlockBuilder {
 public:
  // `input`: of the blocks that rows are taken from. `adds_store`: every row comes with a ref into a store, which is
  // the last origin of the blocks that are made.
  BlockBuilder(const BlockSchema& input, const RowStore* adds_store);

  // Passes the rows on to `next` in full blocks; what is left stays until the next call. All blocks until flush() are
  // of one batch each origin.
  Status put(const RowBlock& block, const SelectedRows& rows, int worker, BlockSink& next);
  // A block of at most kBlockRows rows alone, valid until the next call. Not between put() and flush().
  const RowBlock& make(const RowBlock& block, const SelectedRows& rows);
  // Passes on what is left.
  Status flush(int worker, BlockSink& next);

 private:
  void set_computed();
  void append(const RowBlock& block, const SelectedRows& rows);

  const RowStore* store_;
  RowBlock pending_;
  std::vector<std::unique_ptr<uint32_t[]>> rows_;  // by origin
  std::vector<ColumnBuffer> computed_;
};

}  // namespace crossdock::execution
