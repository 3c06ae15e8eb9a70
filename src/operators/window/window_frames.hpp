// The frame of each row: which positions a function sees.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "operators/window/window_values.hpp"

namespace crossdock::operators {

struct FrameRows {
  uint32_t begin[kWindowRows];
  uint32_t end[kWindowRows];  // never below begin
  // With an exclusion: the part of the frame that is left out, but for the row itself where it is kept.
  bool has_holes = false;
  bool keeps_row = false;
  uint32_t hole_begin[kWindowRows];
  uint32_t hole_end[kWindowRows];

  bool keeps_row_at(uint32_t position, int32_t i) const {
    return keeps_row && position >= hole_begin[i] && position < hole_end[i];
  }
};

// The rows of one frame: runs of positions in ascending order.
struct FrameRuns {
  struct Run {
    uint32_t begin;
    uint32_t end;
  };
  Run runs[3];
  int count = 1;
  FrameRuns(const FrameRows& rows, uint32_t position, int32_t i);
};

// What frames of one window are made from. Must outlive them.
struct FrameSource {
  const WindowStarts* starts = nullptr;
  const WindowValues* keys = nullptr;  // of a range with offsets: the order key
  const std::vector<std::pair<int, WindowValues>>* targets =
      nullptr;  // what ranges reach to, by column
  bool descending = false;
  bool nulls_first = false;
};

// Within a partition, neither end moves back from row to row, but for targets of ranges that fall: by months, where a
// month has fewer days. One thread's own; blocks in ascending order.
class FrameWalker {
 public:
  FrameWalker(const WindowFrame& frame, const FrameSource& source);
  void fill(const WindowBlock& block, FrameRows& rows);

  // Whether frames of that kind need the values of the order key.
  static bool reads_keys(const WindowFrame& frame);

 private:
  void fill_whole(const WindowBlock& block, FrameRows& rows);
  void fill_holes(const WindowBlock& block, FrameRows& rows) const;
  void fill_rows(const WindowBlock& block, FrameRows& rows) const;
  void fill_groups(const WindowBlock& block, FrameRows& rows) const;
  template <class Keys>
  void fill_range(const WindowBlock& block, const Keys& keys, FrameRows& rows);
  template <class Keys>
  void enter(const Keys& keys, uint32_t position, uint32_t begin, uint32_t end);
  void peers_of(const WindowBlock& block, int32_t i, FrameRows& rows) const;

  WindowFrame frame_;
  FrameSource source_;
  const WindowValues* start_targets_ = nullptr;  // none: the key and an offset
  const WindowValues* end_targets_ = nullptr;
  // Of the partition that the last row was in: its rows that are not null, and the frame so far.
  uint32_t partition_end_ = 0;
  uint32_t values_begin_ = 0;
  uint32_t values_end_ = 0;
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
};

}  // namespace crossdock::operators
