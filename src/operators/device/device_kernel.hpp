// All kernels of operators on devices, as one closed list: a runner launches any of them (device_runner.hpp), CUDA as
// kernels, tests on CPU threads.
#pragma once

#include <variant>

#include "operators/device/column_work.hpp"
#include "operators/device/gather_work.hpp"
#include "operators/device/group_work.hpp"
#include "operators/device/join_work.hpp"
#include "operators/device/key_work.hpp"
#include "operators/device/merge_work.hpp"
#include "operators/device/partition_work.hpp"
#include "operators/device/sort_work.hpp"
#include "operators/device/word_work.hpp"

namespace crossdock::operators {

using DeviceKernel = std::variant<FillWords,
                                  GatherWords,
                                  PartitionCount,
                                  PartitionScatter,
                                  JoinBuild,
                                  JoinCount,
                                  JoinList,
                                  JoinProbe,
                                  MergeProbe,
                                  ExpandMatches,
                                  PackKeys,
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
                                  NarrowSums,
                                  DecimalSums,
                                  FinishAggregate>;

}  // namespace crossdock::operators
