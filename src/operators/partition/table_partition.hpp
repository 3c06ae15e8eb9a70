// Partitions a table: the rows of partition 0, then those of partition 1, and so on, in their order of
// arrival within a partition.
//
// Every row gets a partition number; chunks of the table count theirs, a prefix sum over (partition,
// chunk) gives every chunk its places, and row references go there. The columns are then gathered in
// the order of the references, batch by batch. Moves 2 + 4 bytes a row besides the columns, and needs
// that much memory; nothing depends on the number of threads.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/partition_cost.hpp"
#include "operators/partition/partition_spec.hpp"
#include "operators/run/operator.hpp"

namespace crossdock::operators {

class TablePartition : public Operator {
 public:
  // Errors: everything that is wrong with the request, before any row is read.
  static Result<std::unique_ptr<TablePartition>> create(PartitionSpec spec,
                                                        TablePtr table,
                                                        RunEnvironment environment);

  int worker_count() const override;
  OperatorPlan describe() const override;

  // Rows of each partition, in the order of the result. Of the last run that succeeded.
  const std::vector<int64_t>& partition_rows() const { return partition_rows_; }

 private:
  const char* what() const override { return "the partitioning"; }
  Status run_phases(OperatorRun& run) const override;

  struct Places;
  TablePartition() = default;
  model::PartitionShape shape() const;
  Status number_rows(OperatorRun& run, Places& places) const;
  Status place_rows(OperatorRun& run, Places& places) const;
  Status emit_rows(OperatorRun& run, const Places& places) const;
  Result<Batch> gather_batch(std::span<const RowRef> refs) const;

  PartitionSpec spec_;
  std::shared_ptr<const RowStore> store_;
  // A result of run(), of which one is made at a time.
  mutable std::vector<int64_t> partition_rows_;
};

}  // namespace crossdock::operators
