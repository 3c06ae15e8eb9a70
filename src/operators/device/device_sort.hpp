// Sort by several columns that lie on a device (sort_work.hpp has the words): one digit after the other, from the first
// on, each of which sorts only rows that those before have left tied.
//
// A pass before says how far values are apart, so that columns take no more bits, and sorts no more passes, than that.
// A radix sort by the words of a digit, and, where there are several ties, one by their numbers, of as many bits as
// these have, bring the rows of each tie in order; places that are tied still are the list of the next digit. So a
// second column costs what its ties cost, and strings are read on for as long as others begin like them. With `wanted`,
// ties behind it stay as they are after the first digit.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "operators/device/device_runner.hpp"

namespace crossdock::operators {

struct DeviceSortColumn {
  DeviceValues values{};
  bool is_descending = false;
  bool nulls_first = false;
};

struct DeviceSortSpec {
  std::vector<DeviceSortColumn> columns{};
  uint64_t rows = 0;
  uint64_t rows_needed = UINT64_MAX;
};

// The numbers of rows in order, of which the first `wanted` are right: those of all columns equal keep theirs. NaN is
// above all numbers, -0 equals 0, strings compare byte by byte, false comes before true. CD-105 for columns that
// kernels do not read, CD-201 without memory: 48 bytes a row, 80 of a row that is tied then, and what the runner's sort
// takes. Reads back the ranges of up to eight columns at once, and two words per digit.
Result<DeviceBuffer> sort_on_device(DeviceRunner& runner, const DeviceSortSpec& spec);

}  // namespace crossdock::operators
