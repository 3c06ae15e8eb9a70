#include "data/sorters/radix_scatter.hpp"

#include <algorithm>

#include <hwy/cache_control.h>

#include "base/check.hpp"

namespace crossdock::sorters {

int32_t segment_rows_for(int64_t rows, int64_t lists) {
  const int64_t half = rows / std::max<int64_t>(1, lists) / 2;
  const int64_t rounded = (half + kFlushRows - 1) / kFlushRows * kFlushRows;
  return static_cast<int32_t>(std::clamp<int64_t>(rounded, 64, 1008));
}

RadixScatter::RadixScatter(Memory& memory, ScatterOptions options)
    : options_(std::move(options)),
      memory_(&memory),
      pool_(memory, options_.segment_rows, options_.carried_lanes, options_.who) {
  CD_CHECK(options_.partition_bits >= 0 && options_.partition_bits <= kPartitionBitsMax,
           "partition_bits {}",
           options_.partition_bits);
  CD_CHECK(options_.segment_rows > 0 && options_.segment_rows % kFlushRows == 0,
           "segment_rows {}",
           options_.segment_rows);
  fill_.assign(partition_count(), 0);
  cursors_.resize(partition_count());
  partitions_.resize(partition_count());
}

Status RadixScatter::open() {
  const int64_t lanes = 1 + options_.carried_lanes;
  const int64_t bytes = int64_t{partition_count()} * kFlushRows * lanes * 8;
  CD_ASSIGN(buffers_, memory_->get(bytes, options_.who));
  return {};
}

ScatterState RadixScatter::state() {
  return {buffers_.as<uint64_t>(),
          fill_.data(),
          cursors_.data(),
          options_.carried_lanes,
          63 - options_.partition_bits};
}

Status RadixScatter::put(const ScatterInput& input) {
  const ScatterState state = this->state();
  uint32_t blocked = UINT32_MAX;
  int32_t done = scatter_rows(state, input, 0, &blocked);
  while (blocked != UINT32_MAX) {
    CD_TRY(open_segment(blocked));
    flush_buffer(state, blocked);
    blocked = UINT32_MAX;
    done = scatter_rows(state, input, done, &blocked);
  }
  return {};
}

Status RadixScatter::open_segment(uint32_t partition) {
  CD_TRY(close_segment(partition));
  SegmentSource* const source = options_.source;
  CD_ASSIGN(Segment * segment, source != nullptr ? source->open(partition) : pool_.get());
  if (source != nullptr) partitions_[partition].clear();
  partitions_[partition].push_back(segment);
  cursors_[partition] = {segment->words(), segment->capacity_rows, segment->capacity_rows};
  return {};
}

Status RadixScatter::close_segment(uint32_t partition) {
  if (partitions_[partition].empty()) return {};
  Segment* segment = partitions_[partition].back();
  segment->rows = static_cast<int32_t>(segment->capacity_rows - cursors_[partition].room_rows);
  return options_.source != nullptr ? options_.source->close(partition, segment) : Status();
}

Status RadixScatter::finish() {
  const ScatterState state = this->state();
  for (uint32_t partition = 0; partition < fill_.size(); ++partition) {
    const int32_t left = fill_[partition];
    if (left > 0) {
      if (cursors_[partition].room_rows == 0) CD_TRY(open_segment(partition));
      flush_buffer(state, partition);
      cursors_[partition].room_rows += kFlushRows - left;
    }
    CD_TRY(close_segment(partition));
    if (options_.source != nullptr) partitions_[partition].clear();
  }
  hwy::FlushStream();
  buffers_.reset();
  return {};
}

int64_t RadixScatter::partition_rows(int index) const {
  int64_t rows = 0;
  for (const Segment* segment : partitions_[index]) rows += segment->rows;
  return rows;
}

}  // namespace crossdock::sorters
