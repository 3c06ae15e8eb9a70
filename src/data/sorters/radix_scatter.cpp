// The scatter's inner loop and the flush of full buffers.
#include "data/sorters/radix_scatter.hpp"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/check.hpp"

namespace crossdock {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Copies whole cache lines past the caches. `rows` is rounded up to a line: both ends have room.
void stream_lane(const uint64_t* from, uint64_t* to, int32_t rows) {
  const hn::ScalableTag<uint64_t> lane;
  const auto step = static_cast<int32_t>(hn::Lanes(lane));
  for (int32_t i = 0; i < rows; i += step) hn::Stream(hn::Load(lane, from + i), lane, to + i);
}

}  // namespace

RadixScatter::RadixScatter(Memory& memory, ScatterOptions options)
    : options_(std::move(options)), memory_(&memory),
      pool_(memory, options_.segment_rows, options_.has_carry, options_.who) {
  CD_CHECK(options_.partition_bits >= 0 && options_.partition_bits <= kPartitionBitsMax,
           "partition_bits {}", options_.partition_bits);
  CD_CHECK(options_.segment_rows > 0 && options_.segment_rows % kFlushRows == 0,
           "segment_rows {}", options_.segment_rows);
  fill_.assign(partition_count(), 0);
  partitions_.resize(partition_count());
}

Status RadixScatter::open() {
  const int64_t lanes = options_.has_carry ? 2 : 1;
  const int64_t bytes = int64_t{partition_count()} * kFlushRows * lanes * 8;
  CD_ASSIGN(buffers_, memory_->get(bytes, options_.who));
  return {};
}

Status RadixScatter::put(const uint64_t* words, const uint64_t* carry, int32_t rows) {
  // A shift by 64 would be undefined: with one partition, shift twice.
  const int shift = 63 - options_.partition_bits;
  auto* const buffers = buffers_.as<uint64_t>();
  uint8_t* const fill = fill_.data();
  const bool has_carry = options_.has_carry;
  const size_t stride = has_carry ? 2 * kFlushRows : kFlushRows;
  for (int32_t i = 0; i < rows; ++i) {
    const auto partition = static_cast<uint32_t>(words[i] >> 1 >> shift);
    uint64_t* const buffer = buffers + partition * stride;
    const uint8_t at = fill[partition];
    buffer[at] = words[i];
    if (has_carry) buffer[kFlushRows + at] = carry[i];
    fill[partition] = at + 1;
    if (at + 1 == kFlushRows) [[unlikely]] {
      CD_TRY(flush(partition, kFlushRows));
    }
  }
  return {};
}

Status RadixScatter::flush(uint32_t index, int32_t rows) {
  Partition& partition = partitions_[index];
  Segment* segment = partition.open;
  if (segment == nullptr || segment->rows + kFlushRows > segment->capacity_rows) {
    CD_ASSIGN(segment, pool_.get());
    partition.open = segment;
    partition.segments.push_back(segment);
  }
  const int64_t stride = options_.has_carry ? 2 * kFlushRows : kFlushRows;
  const uint64_t* buffer = buffers_.as<uint64_t>() + index * stride;
  stream_lane(buffer, segment->words() + segment->rows, kFlushRows);
  if (options_.has_carry) {
    stream_lane(buffer + kFlushRows, segment->carry() + segment->rows, kFlushRows);
  }
  segment->rows += rows;
  partition.rows += rows;
  fill_[index] = 0;
  return {};
}

Status RadixScatter::finish() {
  for (int partition = 0; partition < partition_count(); ++partition) {
    if (fill_[partition] > 0) CD_TRY(flush(partition, fill_[partition]));
  }
  hwy::FlushStream();
  buffers_.reset();
  return {};
}

}  // namespace crossdock
