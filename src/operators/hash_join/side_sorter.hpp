// What one worker sorts one side of a join with: by hash (SidePartitioner), or by range (RangePartitioner).
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "data/sorters/radix_scatter.hpp"
#include "operators/run/morsel.hpp"

namespace crossdock::operators {

// Rows that are sorted at once.
constexpr int32_t kSorterRows = 1024;

// Working arrays of one sorter: 41 KiB, too much for a stack.
struct SorterBlock {
  alignas(64) uint64_t words[kSorterRows];
  alignas(64) uint64_t carry[kSorterRows];
  alignas(64) uint64_t dead_words[kSorterRows];  // of rows that cannot match
  alignas(64) uint64_t dead_carry[kSorterRows];
  uint8_t live[kSorterRows];
  int32_t rows = 0;       // live rows, moved to the front in order
  int32_t dead_rows = 0;  // filled only if wanted
  int32_t null_rows = 0;  // rows dropped for a null key or a key outside the range

  // Moves rows with live[i] == 0 out of the first `count` rows.
  void compact(int32_t count, bool keep_dead, bool has_carry);
};

class SideSorter {
 public:
  virtual ~SideSorter() = default;

  // Call before the first put().
  Status open();
  Status put(const Morsel& morsel);
  // Others may read afterwards.
  Status finish();

  // Adds to counts, by partition, the rows that put() would scatter.
  virtual void count(const Morsel& morsel, int64_t* counts) = 0;

  // Rows that cannot match, if they were wanted: one list. In a hash join their words give back key columns that hold
  // no nulls.
  const sorters::SegmentList& unmatchable() const { return unmatchable_.partition(0); }

 protected:
  // Partitions of rows that cannot match are made as others are, and stay here.
  SideSorter(Memory& memory,
             sorters::ScatterOptions options,
             bool keeps_unmatchable,
             const char* who_unmatchable);

  virtual Status put_block(const Morsel& morsel, int32_t offset, int32_t rows) = 0;
  // Takes rows that are not live out of the block, and sets them aside if they are wanted.
  Status drop_dead(int32_t rows);

  sorters::RadixScatter scatter_;
  std::unique_ptr<SorterBlock> block_ = std::make_unique<SorterBlock>();

 private:
  bool has_carry_;
  bool keeps_unmatchable_;
  sorters::RadixScatter unmatchable_;
};

}  // namespace crossdock::operators
