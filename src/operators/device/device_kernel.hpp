// All kernels of operators on devices, as one closed list: a runner launches any of them (device_runner.hpp), CUDA as
// kernels, tests on CPU threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "operators/device/column_work.hpp"
#include "operators/device/gather_work.hpp"
#include "operators/device/group_work.hpp"
#include "operators/device/join_work.hpp"
#include "operators/device/key_work.hpp"
#include "operators/device/merge_work.hpp"
#include "operators/device/partition_work.hpp"
#include "operators/device/scan_work.hpp"
#include "operators/device/sort_work.hpp"

namespace crossdock::operators {

using DeviceKernel = std::variant<FillWords,
                                  GatherWords,
                                  TileTotals,
                                  ScanWords,
                                  ScanTiles,
                                  PartitionCount,
                                  PartitionScatter,
                                  JoinBuild,
                                  JoinCount,
                                  JoinList,
                                  JoinProbe,
                                  MergeProbe,
                                  ExpandMatches,
                                  PackKeys,
                                  MeasureKeys,
                                  NumberKeys,
                                  GatherFixed,
                                  GatherBits,
                                  GatherTextSizes,
                                  GatherTextBytes,
                                  GroupAdd,
                                  GroupCollect,
                                  ClearGroups,
                                  TestRows,
                                  ReadHalves,
                                  ReadIndices,
                                  WriteWords,
                                  CountedBits,
                                  CountZeros,
                                  ReadSortWords,
                                  PlaceRows,
                                  MarkTies,
                                  FindEnd,
                                  NarrowSums,
                                  DecimalSums,
                                  MeasureReals,
                                  FinishAggregate>;

// Pairs in ascending order of their keys as signed numbers; equal keys keep their order.
struct DeviceSortWork {
  const int64_t* keys = nullptr;
  const uint64_t* rows = nullptr;
  int64_t* sorted_keys = nullptr;
  uint64_t* sorted_rows = nullptr;
  uint64_t count = 0;
  std::byte* scratch = nullptr;
  uint64_t scratch_bytes = 0;
  uint32_t key_bits = 64;  // where they are fewer, keys are positive, and below 2^key_bits
};

}  // namespace crossdock::operators
