// Segments: the unit in which sorted rows move. A segment holds rows of one partition, column by
// column: a lane of key words and the lanes of values that the rows carry, if any.
//
// On one machine a full segment is handed over by its pointer (loopback); the lanes are 64-byte
// aligned so that they can be written with streaming stores and read as columns.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/budget.hpp"

namespace crossdock::sorters {

struct alignas(64) Segment {
  int32_t rows = 0;
  int32_t capacity_rows = 0;  // a multiple of kFlushRows
  bool has_carry = false;     // carried_lanes > 0
  int32_t carried_lanes = 0;
  int32_t partition = 0;  // where segments of several lie one behind the other

  uint64_t* words() { return reinterpret_cast<uint64_t*>(this + 1); }
  const uint64_t* words() const { return reinterpret_cast<const uint64_t*>(this + 1); }
  // A lane of carried values; lane < carried_lanes.
  uint64_t* carry(int lane = 0) { return words() + int64_t{lane + 1} * capacity_rows; }
  const uint64_t* carry(int lane = 0) const { return words() + int64_t{lane + 1} * capacity_rows; }
};
static_assert(sizeof(Segment) == 64);

// The rows of one partition: what all workers sorted into it, in the order each received them.
using SegmentList = std::vector<Segment*>;

// Where a scatter has its segments from, and what becomes of them. One owner thread.
class SegmentSource {
 public:
  virtual ~SegmentSource() = default;
  // An empty one for rows of a partition, the scatter's until it is full or the last.
  virtual Result<Segment*> open(uint32_t partition) = 0;
  // Its rows are all in; streaming stores may be on their way.
  virtual Status close(uint32_t partition, Segment* segment) = 0;
};

// Gives out segments of one size from large blocks. One owner thread.
class SegmentPool {
 public:
  SegmentPool(Memory& memory, int32_t capacity_rows, int32_t carried_lanes, std::string who)
      : memory_(&memory),
        capacity_rows_(capacity_rows),
        carried_lanes_(carried_lanes),
        who_(std::move(who)) {}

  Result<Segment*> get();
  int32_t capacity_rows() const { return capacity_rows_; }
  // Bytes a segment takes, header included.
  int64_t segment_bytes() const {
    return sizeof(Segment) + int64_t{capacity_rows_} * 8 * (1 + carried_lanes_);
  }

 private:
  Memory* memory_;
  int32_t capacity_rows_;
  int32_t carried_lanes_;
  std::string who_;
  std::vector<Block> blocks_;
  int64_t used_bytes_ = 0;
};

}  // namespace crossdock::sorters
