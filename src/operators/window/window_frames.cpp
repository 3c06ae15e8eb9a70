// Frames by rows and groups are arithmetic; those by values move two ends through the order keys.
#include "operators/window/window_frames.hpp"

#include <cmath>

namespace crossdock::operators {
namespace {

bool has_offset(const FrameBound& bound) {
  return !bound.unbounded && (bound.offset != 0 || bound.real != 0);
}

// Order keys as values that offsets can be added to. before(a, b): a comes before b; NaN is above all numbers.
struct IntegerKeys {
  const WindowValues& values;
  bool descending;
  Int128 at(uint32_t position) const {
    return values.form() == ValueForm::kWide ? values.wide(position)
                                             : static_cast<Int128>(values.integer(position));
  }
  bool before(Int128 a, Int128 b) const { return descending ? b < a : a < b; }
  Int128 moved(Int128 key, const FrameBound& bound) const {
    return descending ? key - bound.offset : key + bound.offset;
  }
};

struct RealKeys {
  const WindowValues& values;
  bool descending;
  double at(uint32_t position) const { return values.real(position); }
  static bool less(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
  bool before(double a, double b) const { return descending ? less(b, a) : less(a, b); }
  double moved(double key, const FrameBound& bound) const {
    return descending ? key - bound.real : key + bound.real;
  }
};

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

void FrameWalker::fill(const WindowBlock& block, FrameRows& rows) {
  if (frame_.unit == FrameUnit::kRows || frame_.is_partition()) return fill_rows(block, rows);
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
  const auto key = keys.at(position);
  if (!frame_.start.unbounded) {
    const auto target = keys.moved(key, frame_.start);
    begin_ = partition_point(
        values_begin_, values_end_, [&](uint32_t at) { return keys.before(keys.at(at), target); });
  }
  if (!frame_.end.unbounded) {
    const auto target = keys.moved(key, frame_.end);
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
    const auto key = keys.at(position);
    rows.begin[i] = block.partition_begin[i];
    if (!frame_.start.unbounded) {
      const auto target = keys.moved(key, frame_.start);
      while (begin_ < values_end_ && keys.before(keys.at(begin_), target)) ++begin_;
      rows.begin[i] = begin_;
    }
    rows.end[i] = block.partition_end[i];
    if (!frame_.end.unbounded) {
      const auto target = keys.moved(key, frame_.end);
      while (end_ < values_end_ && !keys.before(target, keys.at(end_))) ++end_;
      rows.end[i] = std::max(end_, rows.begin[i]);
    }
  }
}

}  // namespace crossdock::operators
