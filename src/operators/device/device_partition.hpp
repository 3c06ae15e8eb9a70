// Hash partition of columns that lie on a device (partition_work.hpp says how, and what it costs).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "operators/device/device_runner.hpp"

namespace crossdock::operators {

struct PartitionColumn {
  const void* data = nullptr;
  uint32_t width_bytes = 8;
};

struct DevicePartitionSpec {
  PartitionColumn key{};  // integers of 4 or 8 bytes, or bytes
  std::vector<PartitionColumn> columns{};
  uint64_t rows = 0;
  PartitionRule rule{};
  // Only rows whose value here is from `low` to `high` go anywhere; integers as of a key. No data: all rows.
  PartitionColumn filter{};
  int64_t low = INT64_MIN;
  int64_t high = INT64_MAX;
};

struct DevicePartitions {
  std::vector<DeviceBuffer> columns;  // rows by partition, in their order
  DeviceBuffer offsets;  // words: where each partition begins, and how many rows there are
};

// The columns may be given back when it answers: the runner keeps the order. CD-105 for what kernels cannot do, CD-201
// where the result and (partitions x blocks) counts find no room; then nothing has run and nothing is kept.
Result<DevicePartitions> partition_on_device(DeviceRunner& runner, const DevicePartitionSpec& spec);

}  // namespace crossdock::operators
