// Group-by of columns that lie on a device (group_work.hpp says how, and what it costs).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "operators/device/device_runner.hpp"

namespace crossdock {

struct DeviceAggregateSpec {
  DeviceAggregate aggregate = DeviceAggregate::kSum;
  const int64_t* values = nullptr;
};

struct DeviceGroupSpec {
  const uint64_t* keys = nullptr;  // words that are equal exactly if keys are
  uint64_t rows = 0;
  std::vector<DeviceAggregateSpec> aggregates{};  // at most kDeviceAggregatesMax
  // How many groups there may be; more are an error of the guess, and cost another run. 0: a guess of few.
  uint64_t groups_expected = 0;
  // Not that by which the rows were distributed before: they would know few slots.
  WordMix mix = WordMix::from_seed(0xD1B54A32D192ED03U);
  // A table above this is met a piece at a time, by rows in the order of a partition; 0: half of the device's L2.
  uint64_t partition_above_bytes = 0;
};

// In no order. Columns lie one behind the other, `groups` words each.
struct DeviceGroups {
  uint64_t groups = 0;
  uint32_t runs = 0;  // until the table had room for all groups
  bool is_partitioned = false;
  DeviceBuffer words;
  std::vector<uint32_t> first_word;  // by aggregate; the upper half of a sum follows its lower

  const uint64_t* keys() const { return words.words(); }
  const uint64_t* counts() const { return words.words() + groups; }
  const uint64_t* column(uint32_t word) const { return words.words() + word * groups; }
};

// CD-105 for too many aggregates, CD-201 where tables or results find no room.
Result<DeviceGroups> group_on_device(DeviceRunner& runner, const DeviceGroupSpec& spec);

}  // namespace crossdock
