// Group-by of columns that lie on a device (group_work.hpp says how, and what it costs).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "operators/device/device_runner.hpp"

namespace crossdock::operators {

// kRealSum takes the bits of doubles, kWideSum halves of 128-bit numbers, kMinRow and kMaxRow the numbers of rows of
// `of`, others words that order as signed numbers (read_words_on_device); kCount takes none.
struct DeviceAggregateSpec {
  DeviceAggregate aggregate = DeviceAggregate::kSum;
  const int64_t* values = nullptr;
  const uint8_t* valid =
      nullptr;  // a byte per row, 0: NULL, which does not count; left out: none is
  const uint64_t* high = nullptr;  // of kWideSum
  DeviceValues of{};               // of rows
};

struct DeviceGroupSpec {
  const uint64_t* keys = nullptr;  // words that are equal exactly if keys are
  uint64_t rows = 0;
  std::vector<DeviceAggregateSpec>
      aggregates{};  // of more than kDeviceAggregatesMax some come in a pass of their own
  // How many groups there may be; more are an error of the guess, and cost another run. 0: a guess of few.
  uint64_t groups_expected = 0;
  // Not that by which the rows were distributed before: they would know few slots.
  WordMix mix = WordMix::from_seed(0xD1B54A32D192ED03U);
  // A table above this is met a piece at a time, by rows in the order of a partition; 0: half of the device's L2.
  uint64_t partition_above_bytes = 0;
  const uint8_t* key_valid =
      nullptr;  // a byte per row, 0: its key is NULL, and so a group of its own
};

// In no order, but for the group of NULL, which is the last. Columns lie one behind the other, `groups` words each.
struct DeviceGroups {
  uint64_t groups = 0;
  uint32_t runs = 0;  // until the table had room for all groups
  bool is_partitioned = false;
  DeviceBuffer words;
  bool has_null_key = false;
  uint32_t passes = 0;
  std::vector<uint32_t> first_word;  // by aggregate; the upper half of a sum follows its lower
  std::vector<AggregateColumn> aggregates;

  const uint64_t* keys() const { return words.words(); }
  const uint64_t* counts() const { return words.words() + groups; }
  const uint64_t* column(uint32_t word) const { return words.words() + word * groups; }
};

// CD-201 where tables or results find no room.
Result<DeviceGroups> group_on_device(DeviceRunner& runner, const DeviceGroupSpec& spec);

// What an aggregate answers, by group: the bits of doubles for sums and means, of values for extremes.
struct DeviceAggregateValues {
  DeviceBuffer words;
  DeviceBuffer valid;  // a byte each, 0: no value came
};
struct DeviceFinish {
  bool is_mean = false;            // of a sum
  Stored stored = Stored::kInt64;  // of an extreme or a sum of whole numbers: what its values were
  double unit = 1;                 // of a mean of decimals: 10^scale
};
Result<DeviceAggregateValues> finish_on_device(DeviceRunner& runner,
                                               const DeviceGroups& groups,
                                               size_t aggregate,
                                               const DeviceFinish& finish = {});

}  // namespace crossdock::operators
