// Runs group-bys and reads what they give.
#include "operators/group_by/grouping.hpp"

#include <algorithm>

namespace crossdock::operators::group_test {

AggregateSpec aggregate(AggregateFunction function, int column, int filter) {
  AggregateSpec spec;
  spec.function = function;
  spec.column = column;
  spec.filter = filter;
  spec.name =
      std::string(function_name(function)) + std::to_string(column) + "_" + std::to_string(filter);
  return spec;
}

Outcome group(const TablePtr& table, GroupSpec spec, Setting& setting) {
  Outcome outcome;
  auto operation = plan_group_by(
      std::move(spec), table, {setting.memory, setting.threads, model::Machine{}, 42});
  if (!operation.ok()) {
    outcome.status = operation.error();
    return outcome;
  }
  const Operator& planned = *operation.value();
  CollectSink sink(planned.worker_count());
  RunProgress progress;
  outcome.status = planned.run(sink, setting.cancel, progress, outcome.profile);
  outcome.batches = sink.take();
  return outcome;
}

std::vector<arrow_test::Strings> sorted_rows(const Outcome& outcome) {
  std::vector<arrow_test::Strings> rows;
  for (const Batch& batch : outcome.batches) {
    for (int64_t i = 0; i < batch.rows; ++i) {
      arrow_test::Strings row;
      for (size_t c = 0; c < batch.columns.size(); ++c) {
        row.push_back(arrow_test::cell(batch.schema->fields[c].type, batch.columns[c], i));
      }
      rows.push_back(std::move(row));
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace crossdock::operators::group_test
