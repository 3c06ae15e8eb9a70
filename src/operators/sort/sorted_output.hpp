// Makes batches of rows that are in order: values out of words, lanes as they are, text by reference.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "operators/sort/sort_run.hpp"

namespace crossdock::operators {

// Rows in order. Columns of the result may be made of the lanes, if they come with their blocks.
struct SortedRows {
  int64_t rows = 0;
  uint64_t* words = nullptr;     // lane 0; nullptr if no column comes from it
  const RowRef* refs = nullptr;  // nullptr if no column needs them
  std::vector<uint8_t*> lanes;   // by lane of the layout
  // Of the lanes; those that the result does not use are freed.
  std::shared_ptr<std::vector<Block>> blocks;
};

// Thread-safe to use. The run and the layout must outlive it.
class SortedOutput {
 public:
  SortedOutput(const SortRun& sort, const SortLayout& layout);

  // Whether a column takes the words' place, if their blocks are given.
  bool takes_words() const { return in_place_ >= 0; }

  // Emits rows [begin, end) of `rows` as batches of one part.
  Status emit(
      SortedRows& rows, int64_t begin, int64_t end, int64_t part, OrderedEmitter& out) const;

 private:
  using Owners = std::vector<std::shared_ptr<const void>>;

  Result<ColumnView> lane_column(const SortColumn& column,
                                 const SortedRows& rows,
                                 Owners& owners) const;
  Result<ColumnView> word_column(const SortColumn& column,
                                 const SortedRows& rows,
                                 bool in_place,
                                 Owners& owners) const;
  Result<ColumnView> gathered_column(const SortColumn& column,
                                     const RowRef* refs,
                                     int64_t count,
                                     Owners& owners) const;
  Result<ColumnView> index_column(const RowRef* refs, int64_t count, Owners& owners) const;
  // Columns of all rows at once, except those with too much text for one column, which stay empty.
  Result<std::vector<ColumnView>> whole_columns(SortedRows& rows, Owners& owners) const;
  Status add_referenced(const SortedRows& rows,
                        std::vector<ColumnView>& columns,
                        Owners& owners) const;
  Result<Block> get(int64_t bytes) const;
  Result<const uint8_t*> pack(const uint8_t* bytes,
                              int64_t rows,
                              Owners& owners,
                              int64_t* ones) const;
  Status set_validity(ColumnView& column, const uint8_t* valid, Owners& owners) const;

  const SortRun* sort_;
  const SortLayout* layout_;
  std::vector<int64_t> chunk_rows_;  // position in the input of each chunk's first row
  int in_place_ = -1;                // column whose values may take the words' place
};

}  // namespace crossdock::operators
