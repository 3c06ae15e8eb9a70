// Moves words into arrays with room for the rows expected in each range, which several
// scatters fill together without a count before. A scatter takes an array's chunks one by one and
// writes into its own, so what it leaves of its last chunk is a gap; rows come in no order.
//
// The inner loop is the radix scatter's: buffers of two cache lines, streaming stores.
// The arrays are thread-safe once all are added; one thread owns a scatter.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/result.hpp"
#include "data/sorters/scatter_kernel.hpp"
#include "memory/budget.hpp"

namespace crossdock::sorters {

// Taking a chunk is an atomic addition to a line that scatters share, and a way out of the inner loop
// and back: for every 256 rows it cost a fifth of the time, for every 512 it is not seen. A scatter
// leaves half a chunk a range.
constexpr int64_t kChunkRows = 512;
static_assert(kChunkRows % kFlushRows == 0);

// Words of an array that were never written.
struct WordGap {
  uint64_t* begin = nullptr;
  uint64_t* end = nullptr;
};

// Brings the `rows` words of an array together at its begin. `gaps` ascend; the words end with the
// last gap or at a chunk's end.
void close_gaps(uint64_t* words, int64_t rows, const std::vector<WordGap>& gaps);

class ChunkedArrays {
 public:
  // `words` is 64-byte aligned, `capacity_rows` a multiple of kChunkRows.
  void add(uint64_t* words, int64_t capacity_rows) { arrays_.emplace_back(words, capacity_rows); }

  int count() const { return static_cast<int>(arrays_.size()); }
  uint64_t* words(int index) const { return arrays_[index].words; }

  // The next chunk of an array; nullptr if it is full.
  uint64_t* take_chunk(int index);
  // Where the chunks end that were taken.
  int64_t taken_rows(int index) const;

 private:
  struct Array {
    Array(uint64_t* at, int64_t rows) : words(at), capacity_rows(rows) {}
    uint64_t* words;
    int64_t capacity_rows;
    std::atomic<int64_t> taken_rows{0};
  };
  std::deque<Array> arrays_;
};

class ChunkScatter {
 public:
  explicit ChunkScatter(ChunkedArrays& arrays);

  // Allocates the buffers. Call before the first put.
  Status open(Memory& memory, const char* who);

  // words[i] goes to array ranges[i]. False if one is full; nothing may be put after that.
  bool put(const uint64_t* words, const uint16_t* ranges, int32_t rows);

  // Empties the buffers; false if an array is full. Others may read after the caller's barrier.
  bool finish();

  // What the scatter left of its last chunk of a range. Valid after finish().
  WordGap gap(int range) const;

 private:
  ScatterState state();
  bool open_chunk(uint32_t range);

  ChunkedArrays* arrays_;
  Block buffers_;
  std::vector<uint8_t> fill_;
  std::vector<ScatterCursor> cursors_;
};

}  // namespace crossdock::sorters
