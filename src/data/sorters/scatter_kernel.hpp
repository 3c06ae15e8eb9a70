// The inner loop of the radix scatter, compiled once per instruction set: the width of the streaming
// stores decides its speed (16-byte stores: 9.4 ns a row at 1,024 partitions, 32-byte: 3.2 ns, on one
// Zen 4 core).
#pragma once

#include <cstdint>

namespace crossdock::sorters {

// Rows a buffer holds per partition: two cache lines per lane. 8 would make partial-line traffic, 32
// would push 1,024 partitions out of a 1 MiB L2.
constexpr int32_t kFlushRows = 16;

// Where a partition's next full buffer goes.
struct ScatterCursor {
  uint64_t* words = nullptr;  // in the open segment; carried lanes lie `lane_offset` apart after it
  int64_t room_rows = 0;      // multiple of kFlushRows; 0 = a new segment is needed
  int64_t lane_offset = 0;    // from one lane of the segment to the next, in words
};

struct ScatterState {
  uint64_t* buffers =
      nullptr;              // per partition: kFlushRows words, then as many of each carried lane
  uint8_t* fill = nullptr;  // rows in each buffer, 0..kFlushRows
  ScatterCursor* cursors = nullptr;
  int32_t carried_lanes = 0;
  int shift = 63;  // partition = word >> 1 >> shift
};

struct ScatterInput {
  const uint64_t* words = nullptr;
  const uint64_t* carry = nullptr;  // the carried lane, if there is one
  int32_t rows = 0;
  const uint16_t* partitions = nullptr;      // of each row; nullptr = the top bits of its word
  const uint64_t* const* carried = nullptr;  // by lane, if there are more
};

// Sorts rows in from `begin` on. Answers input.rows when all are in; else the first row that is not,
// because the buffer of `*blocked` is full and its segment too. The caller gives that cursor a new
// segment, calls flush_buffer and goes on.
int32_t scatter_rows(const ScatterState& state,
                     const ScatterInput& input,
                     int32_t begin,
                     uint32_t* blocked);

// Streams the buffer of one partition (all kFlushRows rows of it) into its segment.
void flush_buffer(const ScatterState& state, uint32_t partition);

}  // namespace crossdock::sorters
