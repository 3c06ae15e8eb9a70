// Columns of a result batch, made of words: the memory they lie in, widths, bitmaps and strings.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "base/int128.hpp"
#include "base/result.hpp"
#include "memory/budget.hpp"
#include "table/column.hpp"

namespace crossdock::operators {

// Everything a finished batch points into: its owner.
class BatchMemory {
 public:
  explicit BatchMemory(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}

  // Uninitialised bytes that live as long as the batch.
  Result<uint8_t*> get(int64_t bytes);
  void keep(std::shared_ptr<const void> owner) { kept_.push_back(std::move(owner)); }
  // A view column's list of one heap.
  void set_heap(const uint8_t* data, int64_t bytes, ColumnView& column);

 private:
  struct Heap {
    const uint8_t* data;
    int64_t bytes;
  };
  std::shared_ptr<Memory> memory_;
  std::vector<Block> blocks_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::deque<Heap> heaps_;
};

// valid[i] of 0 or 1 as the bitmap of the column; none if all rows are valid.
Status set_validity(const uint8_t* valid, int64_t rows, BatchMemory& memory, ColumnView& column);

// Room for the values of a fixed-width or bool column of `rows` rows.
Result<ColumnView> make_fixed(const DataType& type, int64_t rows, BatchMemory& memory);

// Stores words [0, count) as rows from `at` on: integers and instants by their low bits, floats from
// float64 bits. Bools are stored by whole bytes of the bitmap: `at` is a multiple of 8.
void store_words(
    const DataType& type, const uint64_t* words, int32_t count, ColumnView& column, int64_t at);

// A text column of strings packed as ValueReader::strings gives them; `high` may be nullptr. Invalid rows
// hold 0, which is the empty text.
struct PackedStrings {
  int64_t rows = 0;
  int32_t bytes_max = 0;
  const uint64_t* low = nullptr;
  const uint64_t* high = nullptr;
};
Result<ColumnView> make_strings(const DataType& type,
                                const PackedStrings& strings,
                                BatchMemory& memory);

// The float16 (IEEE binary16) that a double holds exactly.
uint16_t float16_bits(double value);

}  // namespace crossdock::operators
