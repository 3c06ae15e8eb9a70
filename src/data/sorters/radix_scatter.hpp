// The radix scatter: sorts rows by the top bits of their key word, or by partitions that the caller
// names (ranges, splitters.hpp), into one list of segments per partition, in one pass and without a
// histogram (segments grow as rows come).
//
// Rows collect in a small buffer per partition (software write-combining, seed of all fast
// partitioners since Balkesen et al., ICDE 2013) and leave it 16 at a time by streaming stores, so a
// row costs one cached store and its share of two full cache lines. The order of rows within a
// partition is the order of arrival (stable).
//
// Bounds: moves 8 B per row and lane in and out; with one carried lane measured at 40-50 % of memcpy up
// to 1,024 partitions.
// One thread owns a scatter; the lists are read by others only after finish().
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "data/sorters/scatter_kernel.hpp"
#include "data/sorters/segment.hpp"

namespace crossdock::sorters {

constexpr int kPartitionBitsMax = 12;

struct ScatterOptions {
  int partition_bits = 0;       // 0..kPartitionBitsMax
  int32_t carried_lanes = 1;    // 8-byte values that a row carries beside its key word
  int32_t segment_rows = 1008;  // multiple of kFlushRows
  std::string who;              // for budget errors
  // Where segments are, if not in memory of the scatter's own: then it keeps no lists of them.
  SegmentSource* source = nullptr;
};

// Rows of a segment such that rows spread evenly over `lists` partitions take two of them each: 1,008
// (16 KiB) at most, so that little of the last one stays empty.
int32_t segment_rows_for(int64_t rows, int64_t lists);

class RadixScatter {
 public:
  RadixScatter(Memory& memory, ScatterOptions options);

  // Allocates the buffers. Call before the first put.
  Status open();

  // Sorts `rows` rows in. `carry` is read only when rows carry one lane; more need the other form.
  Status put(const uint64_t* words, const uint64_t* carry, int32_t rows) {
    return put({words, carry, rows, nullptr, nullptr});
  }
  // The same; named partitions must be below partition_count().
  Status put(const ScatterInput& input);

  // Empties the buffers; afterwards the segments hold every row and other threads may read them
  // (the caller's barrier orders the streaming stores, which finish() has fenced).
  Status finish();

  int partition_count() const { return 1 << options_.partition_bits; }
  // Without a source.
  const SegmentList& partition(int index) const { return partitions_[index]; }
  // Rows of a partition. Valid after finish().
  int64_t partition_rows(int index) const;

 private:
  ScatterState state();
  Status open_segment(uint32_t partition);
  Status close_segment(uint32_t partition);

  ScatterOptions options_;
  Memory* memory_;
  SegmentPool pool_;
  Block buffers_;
  std::vector<uint8_t> fill_;
  std::vector<ScatterCursor> cursors_;
  std::vector<SegmentList> partitions_;
};

}  // namespace crossdock::sorters
