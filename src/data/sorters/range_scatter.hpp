// Moves lanes of rows into places that are known to the row: each range of rows has its part of an
// array, and a scatter knows where its own rows of every range begin.
//
// Unlike RadixScatter, whose segments grow, this needs the ranges counted first. For that, the
// parts are arrays without gaps, which can be sorted in place and become the columns of a result,
// and the order of arrival is kept across all scatters that share them. A lane is one value of every
// row, of 1 to 16 bytes; lanes of a row move one after the other with the same ranges.
//
// Rows collect in a buffer of two cache lines per range and leave it by streaming stores. Only the
// first and the last rows of a range, whose lines may belong to a neighbour too, are copied.
// Cost on one Zen 4 core, 8-byte lanes: see kRangeBufferBytes. One thread owns a scatter.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "memory/budget.hpp"

namespace crossdock::sorters {

// Bytes of one range's buffer. One line would stream half as far at a time, four would push 2,048
// ranges out of a 1 MiB L2.
constexpr int32_t kRangeBufferBytes = 128;

// How many lanes at once keep their buffers within half of the second-level cache; at least one.
int lanes_at_once(int ranges, int64_t l2_bytes);

struct LaneCursors {
  uint8_t* buffers = nullptr;  // kRangeBufferBytes of each range
  uint8_t** places = nullptr;  // where the first byte of a buffer goes; 64-byte aligned
  uint8_t* fill = nullptr;     // values in the buffer
  uint8_t* skip = nullptr;     // of these, the first ones that belong to another task
  bool streams = true;
};

class LaneScatter {
 public:
  // Rows of up to `ranges` ranges, of values of 1, 2, 4, 8 or 16 bytes. `streams` is false where the
  // rows fit the caches, so that the next reader finds them there.
  Status open(Memory& memory, int ranges, int width, bool streams, const char* who);

  // Where the next value of `range` goes. Call for every range before the first put.
  void start(int range, uint8_t* place);

  // values[i] goes to ranges[i].
  void put(const uint8_t* values, const uint16_t* ranges, int32_t rows);

  // Writes what the buffers hold. Other threads may read after the caller's barrier.
  void finish();

 private:
  LaneCursors cursors();

  Block block_;
  int ranges_ = 0;
  int width_ = 0;
  bool streams_ = true;
};

}  // namespace crossdock::sorters
