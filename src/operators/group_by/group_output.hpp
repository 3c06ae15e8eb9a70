// Turns groups into Arrow batches: keys back from words, aggregates from their accumulators.
#pragma once

#include <memory>

#include "operators/group_by/aggregate_plan.hpp"
#include "operators/group_by/column_builder.hpp"
#include "operators/group_by/group_table.hpp"
#include "operators/run/row_sink.hpp"
#include "table/gather.hpp"

namespace crossdock::operators {

// What the writers of one run share. Must outlive them.
struct GroupOutput {
  SchemaPtr schema;
  const GroupKeyPlan* keys = nullptr;
  const AggregatePlan* aggregates = nullptr;
  std::shared_ptr<const RowStore> store;
  std::shared_ptr<Memory> memory;
  int64_t batch_rows = 0;
};

// Groups of one table that become the rows of one batch, or several.
struct GroupList {
  const GroupTable* table = nullptr;
  const uint32_t* groups = nullptr;
  int64_t count = 0;
};

// `count` rows of a column of the input. An error names the group-by.
Result<OwnedColumn> gather_groups(const GroupOutput& output,
                                  int column,
                                  const RowRef* refs,
                                  int64_t count);

// Key columns of the groups, appended to batch.columns.
Status write_keys(const GroupOutput& output,
                  const GroupList& list,
                  BatchMemory& memory,
                  Batch& batch);

// The column of one aggregate. Error kValueOutOfRange: a sum does not fit its type.
Result<ColumnView> write_aggregate(const GroupOutput& output,
                                   const PlannedAggregate& aggregate,
                                   const GroupList& list,
                                   BatchMemory& memory);

// One worker's own.
class GroupWriter {
 public:
  GroupWriter(const GroupOutput& output, RowSink& sink, int worker)
      : output_(&output), sink_(&sink), worker_(worker) {}

  // Passes the groups on in batches of at most batch_rows.
  Status emit(const GroupList& list);
  // All groups of a table.
  Status emit_all(const GroupTable& table);
  int64_t rows() const { return rows_; }

 private:
  Status emit_batch(const GroupList& list);

  const GroupOutput* output_;
  RowSink* sink_;
  int worker_;
  int64_t rows_ = 0;
  Block listed_;
};

}  // namespace crossdock::operators
