#include "operators/device/device_partition.hpp"

#include <bit>

namespace crossdock::operators {
namespace {

Status check_partition(const DevicePartitionSpec& spec) {
  const PartitionRule& rule = spec.rule;
  if (rule.ways == 0 || rule.ways > kPartitionWaysMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} partitions are asked for; one pass on a device makes 1 to {}",
                      rule.ways,
                      kPartitionWaysMax);
  }
  if (rule.is_digit && (!std::has_single_bit(rule.ways) || rule.shift >= 64)) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "a digit of {} values from bit {} on is asked for; digits have a power of two "
        "of values, and keys 64 bits",
        rule.ways,
        rule.shift);
  }
  for (const uint32_t width_bytes : {spec.key.width_bytes, spec.filter.width_bytes}) {
    if (width_bytes == 1 || width_bytes == 4 || width_bytes == 8) continue;
    return make_error(ErrorCode::kInvalidArgument,
                      "a key or filter of {} bytes; on a device these are integers of 4 or 8, or "
                      "bytes",
                      width_bytes);
  }
  if (spec.columns.size() > kPartitionLanesMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} columns; one pass on a device moves at most {}",
                      spec.columns.size(),
                      kPartitionLanesMax);
  }
  for (const PartitionColumn& column : spec.columns) {
    if (column.width_bytes > 8 || !std::has_single_bit(column.width_bytes)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "a column of {} bytes; columns on a device have 1, 2, 4 or 8",
                        column.width_bytes);
    }
  }
  return {};
}

PartitionKeys integers_of(const PartitionColumn& column) {
  return {.data = static_cast<const std::byte*>(column.data), .width_bytes = column.width_bytes};
}

}  // namespace

Result<DevicePartitions> partition_on_device(DeviceRunner& runner,
                                             const DevicePartitionSpec& spec) {
  CD_TRY(check_partition(spec));
  const uint64_t tiles = tiles_of(spec.rows, kPartitionTileRows);
  const uint32_t blocks = grid_of(runner, tiles);
  const BlockRows block_rows{.rows = spec.rows,
                             .rows_per_block = tiles_of(tiles, blocks) * kPartitionTileRows};
  const PartitionKeys keys = integers_of(spec.key);
  const PartitionFilter filter{
      .values = integers_of(spec.filter), .low = spec.low, .high = spec.high};
  const uint64_t counts = uint64_t{spec.rule.ways} * blocks;

  DevicePartitions partitions;
  CD_ASSIGN(partitions.offsets, DeviceBuffer::words(runner, spec.rule.ways + uint64_t{1}));
  CD_ASSIGN(const DeviceBuffer places, DeviceBuffer::words(runner, counts + 1));
  PartitionScatter scatter{.keys = keys,
                           .rule = spec.rule,
                           .filter = filter,
                           .block_rows = block_rows,
                           .starts = places.words(),
                           .offsets = partitions.offsets.words()};
  for (const PartitionColumn& column : spec.columns) {
    CD_ASSIGN(DeviceBuffer lane, DeviceBuffer::make(runner, spec.rows * column.width_bytes));
    scatter.lanes[scatter.lane_count++] = {.from = static_cast<const std::byte*>(column.data),
                                           .to = lane.as<std::byte>(),
                                           .width_bytes = column.width_bytes};
    partitions.columns.push_back(std::move(lane));
  }
  CD_TRY(runner.launch(PartitionCount{.keys = keys,
                                      .rule = spec.rule,
                                      .filter = filter,
                                      .block_rows = block_rows,
                                      .counts = places.words()},
                       blocks));
  CD_TRY(runner.scan({.words = places.words(), .count = counts}));
  CD_TRY(runner.launch(scatter, blocks));
  return partitions;
}

}  // namespace crossdock::operators
