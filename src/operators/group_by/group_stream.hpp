// Grouping rows that come as a stream: nothing is kept of a row but its group's key and states.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "operators/group_by/group_planner.hpp"
#include "operators/group_by/group_run.hpp"
#include "operators/group_by/group_spec.hpp"
#include "operators/run/operator.hpp"

namespace crossdock::operators {

// What is known of the rows before the first one comes.
struct StreamedRows {
  SchemaPtr schema;
  std::vector<bool> nullable;                   // by column
  std::vector<const ColumnView*> dictionaries;  // by column; nullptr where it is none
  std::shared_ptr<const void> owner;            // of the dictionaries, which groups refer to
  std::vector<KeyColumnRange> key_ranges;       // by key of the spec
  int64_t rows_expected = 0;
};

class GroupStream {
 public:
  // Nothing, if these rows cannot be grouped as they come: keys that need more than 128 bits, aggregates that refer to
  // rows (first, any, extremes of strings), distinct counts, quantiles. Errors: those of the spec.
  static Result<std::unique_ptr<GroupStream>> create(GroupSpec spec,
                                                     StreamedRows rows,
                                                     RunEnvironment environment);

  const SchemaPtr& schema() const { return schema_; }
  // Columns that are read.
  const std::vector<int>& columns() const { return columns_; }

  // Before the first take(). The run must outlive the stream.
  void open(const OperatorRun& run);
  // At most kGroupRows rows; from all workers at once.
  Status take(int worker, const Batch& rows);
  // After the last take().
  Status end() { return taker_->end(); }
  // Between end() and finish(), as often as wanted: emits some groups into `sink`, from worker 0.
  Result<SampledGroups> sample(RowSink& sink);
  // Emits every group into `sink`.
  Status finish(RowSink& sink);
  // "dense, 20 bits", for explain.
  std::string describe() const;

 private:
  GroupStream() = default;
  void plan_course();
  void emit_into(RowSink& sink);

  GroupSpec spec_;
  StreamedRows rows_;
  RunEnvironment environment_;
  std::shared_ptr<RowStore> assumed_;
  SchemaPtr schema_;
  std::vector<int> columns_;
  AggregatePlan aggregates_;
  GroupKeyPlan keys_;
  GroupCourse course_;
  std::optional<GroupRun> run_;
  std::unique_ptr<GroupTaker> taker_;
};

}  // namespace crossdock::operators
