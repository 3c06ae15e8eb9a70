// Columns for operators on devices, as Arrow arrays on both sides: loaded into a runner's memory, and in tables for the
// CPU's operators, whose answers are expected.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "operators/device/device_gather.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/tried_runners.hpp"
#include "table/random_columns.hpp"

namespace crossdock::operators::device_test {

using arrow_test::Array;
using arrow_test::Random;
using arrow_test::Strings;

// The formats of columns that devices take.
const std::vector<std::string>& device_formats();

// `rows` values of about `distinct`, so that keys meet: zeros of both signs, NaN, extremes, strings that begin alike or
// have zero bytes among them. Some lie behind others by an offset.
Array device_array(
    const std::string& format, int64_t rows, uint64_t distinct, double null_share, Random& random);

struct LoadedColumn {
  std::vector<DeviceBuffer> buffers;
  DeviceValues values;
};
LoadedColumn load_array(DeviceRunner& runner, const Array& array);

// Columns "0", "1", …, and "row" with the row's number.
TablePtr table_of(const std::vector<Array>& columns, int64_t rows);

// Rows of the probe and of the build side, kNoRow for none, in ascending order.
using RowPairs = std::vector<std::pair<uint64_t, uint64_t>>;
RowPairs pairs_of(DeviceRunner& runner, const DeviceMatches& matches, DeviceJoinKind kind);

// What the CPU's join is given to do the same.
struct CpuJoin {
  TablePtr probe;
  TablePtr build;
  int keys = 1;
  bool nulls_equal = false;
};
// Joins of every kind, by hash, by hash in pieces and by merging, find and count the pairs that the CPU's join finds.
void expect_joins(DeviceRunner& runner,
                  const JoinRows& probe_rows,
                  const JoinRows& build_rows,
                  const CpuJoin& cpu);

// Values as strings, "null" for none, as arrow_test::cells says them.
Strings cells_of(DeviceRunner& runner, const DeviceColumnData& column, const std::string& format);

}  // namespace crossdock::operators::device_test
