// Frames by rows and groups are arithmetic; those by values move two ends through the order keys.
#include "operators/window/window_frames.hpp"

#include <algorithm>
#include <cmath>

namespace crossdock::operators {
namespace {

bool has_offset(const FrameBound& bound) {
  return !bound.unbounded && (bound.offset != 0 || bound.real != 0 || bound.column >= 0);
}

// Order keys as values that offsets can be added to. before(a, b): a comes before b; NaN is above all numbers.
struct IntegerKeys {
  const WindowValues& values;
  bool descending;
  Int128 at(uint32_t position) const { return value(values, position); }
  static Int128 value(const WindowValues& of, uint32_t position) {
    return of.form() == ValueForm::kWide ? of.wide(position)
                                         : static_cast<Int128>(of.integer(position));
  }
  bool before(Int128 a, Int128 b) const { return descending ? b < a : a < b; }
  Int128 moved(Int128 key, const FrameBound& bound) const {
    return descending ? key - bound.offset : key + bound.offset;
  }
};

struct RealKeys {
  const WindowValues& values;
  bool descending;
  double at(uint32_t position) const { return value(values, position); }
  static double value(const WindowValues& of, uint32_t position) { return of.real(position); }
  static bool less(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
  bool before(double a, double b) const { return descending ? less(b, a) : less(a, b); }
  double moved(double key, const FrameBound& bound) const {
    return descending ? key - bound.real : key + bound.real;
  }
};

// What the bound of a row reaches to.
template <class Keys>
auto target_of(const Keys& keys,
               uint32_t position,
               const FrameBound& bound,
               const WindowValues* targets) {
  return targets == nullptr ? keys.moved(keys.at(position), bound)
                            : Keys::value(*targets, position);
}

// The first position of [begin, end) for which `holds` is false; it is true before there.
template <class Holds>
uint32_t partition_point(uint32_t begin, uint32_t end, const Holds& holds) {
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (holds(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

uint32_t clamped(int64_t position, uint32_t least, uint32_t most) {
  return static_cast<uint32_t>(
      std::clamp(position, static_cast<int64_t>(least), static_cast<int64_t>(most)));
}

}  // namespace

bool FrameWalker::reads_keys(const WindowFrame& frame) {
  return frame.unit == FrameUnit::kRange && (has_offset(frame.start) || has_offset(frame.end));
}

FrameRuns::FrameRuns(const FrameRows& rows, uint32_t position, int32_t i)
    : runs{{rows.begin[i], rows.end[i]}} {
  if (!rows.has_holes) return;
  runs[0].end = rows.hole_begin[i];
  if (rows.keeps_row_at(position, i)) runs[count++] = {position, position + 1};
  runs[count++] = {rows.hole_end[i], rows.end[i]};
}

FrameWalker::FrameWalker(const WindowFrame& frame, const FrameSource& source)
    : frame_(frame), source_(source) {
  const auto targets = [&](const FrameBound& bound) -> const WindowValues* {
    if (bound.column < 0) return nullptr;
    const auto of_column = [&](const auto& entry) { return entry.first == bound.column; };
    return &std::find_if(source.targets->begin(), source.targets->end(), of_column)->second;
  };
  start_targets_ = targets(frame.start);
  end_targets_ = targets(frame.end);
}

void FrameWalker::fill(const WindowBlock& block, FrameRows& rows) {
  fill_whole(block, rows);
  rows.has_holes = frame_.exclusion != FrameExclusion::kNone;
  if (rows.has_holes) fill_holes(block, rows);
}

// Without an order all rows of a partition are equal.
void FrameWalker::fill_holes(const WindowBlock& block, FrameRows& rows) const {
  rows.keeps_row = frame_.exclusion == FrameExclusion::kTies;
  const std::vector<uint32_t>& peers = source_.starts->peers;
  for (int32_t i = 0; i < block.rows; ++i) {
    uint32_t begin = block.position(i);
    uint32_t end = begin + 1;
    if (frame_.exclusion != FrameExclusion::kCurrentRow) {
      begin = peers.empty() ? block.partition_begin[i] : peers[block.peer[i]];
      end = peers.empty() ? block.partition_end[i] : peers[block.peer[i] + 1];
    }
    rows.hole_begin[i] = std::clamp(begin, rows.begin[i], rows.end[i]);
    rows.hole_end[i] = std::clamp(end, rows.begin[i], rows.end[i]);
  }
}

void FrameWalker::fill_whole(const WindowBlock& block, FrameRows& rows) {
  const bool is_partition = frame_.start.unbounded && frame_.end.unbounded;
  if (frame_.unit == FrameUnit::kRows || is_partition) return fill_rows(block, rows);
  if (!reads_keys(frame_)) return fill_groups(block, rows);
  if (source_.keys->form() == ValueForm::kReal) {
    return fill_range(block, RealKeys{*source_.keys, source_.descending}, rows);
  }
  fill_range(block, IntegerKeys{*source_.keys, source_.descending}, rows);
}

void FrameWalker::fill_rows(const WindowBlock& block, FrameRows& rows) const {
  for (int32_t i = 0; i < block.rows; ++i) {
    const auto position = static_cast<int64_t>(block.position(i));
    const uint32_t least = block.partition_begin[i];
    const uint32_t most = block.partition_end[i];
    rows.begin[i] =
        frame_.start.unbounded ? least : clamped(position + frame_.start.offset, least, most);
    const uint32_t end =
        frame_.end.unbounded ? most : clamped(position + frame_.end.offset + 1, least, most);
    rows.end[i] = std::max(end, rows.begin[i]);
  }
}

// A range without offsets is one of groups, from or up to the row's own.
void FrameWalker::fill_groups(const WindowBlock& block, FrameRows& rows) const {
  const std::vector<uint32_t>& peers = source_.starts->peers;
  const auto last = static_cast<int64_t>(peers.size()) - 1;
  const auto start_of = [&](int64_t group, const WindowBlock& of, int32_t i) {
    const int64_t known = std::clamp<int64_t>(group, of.first_peer[i], last);
    return std::min(peers[known], of.partition_end[i]);
  };
  for (int32_t i = 0; i < block.rows; ++i) {
    const auto group = static_cast<int64_t>(block.peer[i]);
    rows.begin[i] = frame_.start.unbounded ? block.partition_begin[i]
                                           : start_of(group + frame_.start.offset, block, i);
    const uint32_t end = frame_.end.unbounded ? block.partition_end[i]
                                              : start_of(group + frame_.end.offset + 1, block, i);
    rows.end[i] = std::max(end, rows.begin[i]);
  }
}

void FrameWalker::peers_of(const WindowBlock& block, int32_t i, FrameRows& rows) const {
  const std::vector<uint32_t>& peers = source_.starts->peers;
  rows.begin[i] = frame_.start.unbounded ? block.partition_begin[i] : peers[block.peer[i]];
  rows.end[i] = frame_.end.unbounded ? block.partition_end[i] : peers[block.peer[i] + 1];
}

// Begins with a partition, from some row of it on.
template <class Keys>
void FrameWalker::enter(const Keys& keys, uint32_t position, uint32_t begin, uint32_t end) {
  partition_end_ = end;
  values_begin_ = begin;
  values_end_ = end;
  if (source_.keys->any_null()) {
    const auto is_valid = [&](uint32_t at) { return source_.keys->is_valid(at); };
    if (source_.nulls_first) {
      values_begin_ = partition_point(begin, end, [&](uint32_t at) { return !is_valid(at); });
    } else {
      values_end_ = partition_point(begin, end, is_valid);
    }
  }
  begin_ = end_ = values_begin_;
  if (position <= values_begin_ || position >= values_end_) return;
  if (!frame_.start.unbounded) {
    const auto target = target_of(keys, position, frame_.start, start_targets_);
    begin_ = partition_point(
        values_begin_, values_end_, [&](uint32_t at) { return keys.before(keys.at(at), target); });
  }
  if (!frame_.end.unbounded) {
    const auto target = target_of(keys, position, frame_.end, end_targets_);
    end_ = partition_point(
        values_begin_, values_end_, [&](uint32_t at) { return !keys.before(target, keys.at(at)); });
  }
}

template <class Keys>
void FrameWalker::fill_range(const WindowBlock& block, const Keys& keys, FrameRows& rows) {
  for (int32_t i = 0; i < block.rows; ++i) {
    const uint32_t position = block.position(i);
    if (block.partition_end[i] != partition_end_) {
      enter(keys, position, block.partition_begin[i], block.partition_end[i]);
    }
    if (!source_.keys->is_valid(position)) {  // nulls are equal to each other, and to no value
      peers_of(block, i, rows);
      continue;
    }
    rows.begin[i] = block.partition_begin[i];
    if (!frame_.start.unbounded) {
      const auto target = target_of(keys, position, frame_.start, start_targets_);
      while (begin_ > values_begin_ && !keys.before(keys.at(begin_ - 1), target)) --begin_;
      while (begin_ < values_end_ && keys.before(keys.at(begin_), target)) ++begin_;
      rows.begin[i] = begin_;
    }
    rows.end[i] = block.partition_end[i];
    if (!frame_.end.unbounded) {
      const auto target = target_of(keys, position, frame_.end, end_targets_);
      while (end_ > values_begin_ && keys.before(target, keys.at(end_ - 1))) --end_;
      while (end_ < values_end_ && !keys.before(target, keys.at(end_))) ++end_;
      rows.end[i] = std::max(end_, rows.begin[i]);
    }
  }
}

}  // namespace crossdock::operators
