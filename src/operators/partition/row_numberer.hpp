// Which partition a row belongs to.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "operators/partition/partition_spec.hpp"
#include "operators/run/operator_run.hpp"

namespace crossdock::operators {

constexpr int32_t kNumberedRows = 1024;  // rows of one call

// The seed of partitions is no engine's: tables that are partitioned by equal keys into equal numbers of
// partitions meet, whatever partitioned them, also a device. A change of it is a change of the format.
constexpr uint64_t kPartitionSeed = 0x9E3779B97F4A7C15U;

class RowNumberer {
 public:
  virtual ~RowNumberer() = default;
  // numbers[i] = the partition of the morsel's row i, of at most kNumberedRows. Thread-safe per worker.
  virtual Status number(int worker, const Morsel& morsel, uint16_t* numbers) = 0;
};

// Makes the numberer of a partitioning. Ranges are cut here, from a sample of the keys, which `run`
// reads. Errors: kUnsupportedType (numbers that are no integers), and those of the run.
Result<std::unique_ptr<RowNumberer>> make_numberer(const PartitionSpec& spec,
                                                   const RowStore& store,
                                                   OperatorRun& run);

}  // namespace crossdock::operators
