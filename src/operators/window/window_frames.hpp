// The frame of each row: which positions a function sees.
#pragma once

#include <cstdint>
#include <optional>

#include "operators/window/window_values.hpp"

namespace crossdock::operators {

struct FrameRows {
  uint32_t begin[kWindowRows];
  uint32_t end[kWindowRows];  // never below begin
};

// What frames of one window are made from. Must outlive them.
struct FrameSource {
  const WindowStarts* starts = nullptr;
  const WindowValues* keys = nullptr;  // of a range with offsets: the order key
  bool descending = false;
  bool nulls_first = false;
};

// Within a partition, neither end ever moves back from row to row. One thread's own; blocks in ascending order.
class FrameWalker {
 public:
  FrameWalker(const WindowFrame& frame, const FrameSource& source)
      : frame_(frame), source_(source) {}
  void fill(const WindowBlock& block, FrameRows& rows);

  // Whether frames of that kind need the values of the order key.
  static bool reads_keys(const WindowFrame& frame);

 private:
  void fill_rows(const WindowBlock& block, FrameRows& rows) const;
  void fill_groups(const WindowBlock& block, FrameRows& rows) const;
  template <class Keys>
  void fill_range(const WindowBlock& block, const Keys& keys, FrameRows& rows);
  template <class Keys>
  void enter(const Keys& keys, uint32_t position, uint32_t begin, uint32_t end);
  void peers_of(const WindowBlock& block, int32_t i, FrameRows& rows) const;

  WindowFrame frame_;
  FrameSource source_;
  // Of the partition that the last row was in: its rows that are not null, and the frame so far.
  uint32_t partition_end_ = 0;
  uint32_t values_begin_ = 0;
  uint32_t values_end_ = 0;
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
};

}  // namespace crossdock::operators
