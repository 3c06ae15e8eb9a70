// Makes plans, runs them, and reads their rows as text.
#include "execution/running.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace crossdock::execution::query_test {

plan::NodePtr node_of(Result<plan::NodePtr> node) {
  CD_CHECK(node.ok(), "{}", node.error().message);
  return node.value();
}

plan::NodePtr scan(const TablePtr& table) {
  std::vector<std::string> names;
  for (const Field& field : table->schema->fields) names.push_back(field.name);
  return node_of(plan::make_scan(table, names, "rows"));
}

expressions::ExpressionPtr has_value(const plan::NodePtr& node, int column) {
  expressions::CallParts parts;
  parts.op = expressions::ExpressionOp::kIsValid;
  parts.arguments = {expressions::make_column(*node->schema, column)};
  return expressions::make_call(std::move(parts)).value();
}

expressions::ExpressionPtr is_less(const Schema& schema, int column, int other) {
  expressions::CallParts parts;
  parts.op = expressions::ExpressionOp::kLess;
  parts.arguments = {expressions::make_column(schema, column),
                     expressions::make_column(schema, other)};
  return expressions::make_call(std::move(parts)).value();
}

Outcome run(const plan::NodePtr& plan, Setting& setting) {
  const operators::RunEnvironment environment{setting.memory, setting.threads, {}, 17};
  Query::Options options;
  options.rules = setting.rules;
  const Query query(plan, environment, options);
  operators::CollectSink sink(setting.threads);
  operators::RunProgress progress;
  operators::RunProfile profile;
  Outcome outcome;
  outcome.status = query.run(sink, setting.cancel, progress, profile);
  outcome.batches = sink.take();
  outcome.rows = profile.result_rows;
  return outcome;
}

std::vector<arrow_test::Strings> sorted_rows(const Outcome& outcome) {
  std::vector<arrow_test::Strings> rows;
  for (const Batch& batch : outcome.batches) {
    std::vector<arrow_test::Strings> columns;
    for (size_t c = 0; c < batch.columns.size(); ++c) {
      columns.push_back(arrow_test::cells(batch, static_cast<int>(c)));
    }
    for (int64_t row = 0; row < batch.rows; ++row) {
      arrow_test::Strings& strings = rows.emplace_back();
      for (const arrow_test::Strings& column : columns) strings.push_back(column[row]);
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<IntegerRow> sorted_integers(const Outcome& outcome) {
  std::vector<IntegerRow> rows;
  rows.reserve(outcome.rows);
  for (const Batch& batch : outcome.batches) {
    for (const Field& field : batch.schema->fields) {
      CD_CHECK(field.type.id == TypeId::kInt64, "{} is no 64-bit integer", field.name);
    }
    const size_t first = rows.size();
    rows.resize(first + batch.rows);
    for (size_t c = 0; c < batch.columns.size(); ++c) {
      const ColumnView& column = batch.columns[c];
      for (int64_t i = 0; i < batch.rows; ++i) {
        if (column.is_valid(i)) rows[first + i].at(c) = column.data<int64_t>()[i];
      }
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace crossdock::execution::query_test
