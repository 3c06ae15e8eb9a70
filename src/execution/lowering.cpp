// Scans, filters, projections, sorts and limits.
#include "execution/lowering.hpp"

#include <algorithm>
#include <chrono>

#include "execution/collect_sink.hpp"
#include "operators/run/morsel.hpp"
#include "operators/sort/table_sort.hpp"

namespace crossdock::execution {
namespace {

using expressions::Expression;
using expressions::ExpressionOp;
using expressions::ExpressionPtr;

// Conditions on strings read what they look at from memory; those on numbers are tested before them.
bool reads_strings(const Expression& expression) {
  if (expression.op == ExpressionOp::kColumn) {
    const DataType& type = value_type(expression.type);
    return is_string(type.id) || is_binary(type.id);
  }
  return std::any_of(expression.arguments.begin(),
                     expression.arguments.end(),
                     [](const ExpressionPtr& argument) { return reads_strings(*argument); });
}

TablePtr table_of(SchemaPtr schema, std::vector<Batch> batches) {
  auto table = std::make_shared<Table>();
  table->schema = std::move(schema);
  for (const Batch& batch : batches) table->rows += batch.rows;
  table->batches = std::move(batches);
  return table;
}

// Columns of the chain's table under the names that the chain gives them.
TablePtr projected(const Chain& chain) {
  std::vector<Batch> batches;
  for (const Batch& batch : chain.table->batches) {
    Batch narrow{chain.schema.schema, batch.rows, {}, batch.owner};
    for (const ColumnPlace& place : chain.schema.places) {
      narrow.columns.push_back(batch.columns[place.column]);
    }
    batches.push_back(std::move(narrow));
  }
  return table_of(chain.schema.schema, std::move(batches));
}

// Rows [offset, offset + rows) of a table.
TablePtr limited(const Table& table, int64_t rows, int64_t offset) {
  std::vector<Batch> batches;
  for (const Batch& batch : table.batches) {
    const int64_t skipped = std::min(offset, batch.rows);
    const int64_t taken = std::min(rows, batch.rows - skipped);
    offset -= skipped;
    rows -= taken;
    if (taken <= 0) continue;
    Batch part{batch.schema, taken, {}, batch.owner};
    for (const ColumnView& column : batch.columns) {
      part.columns.push_back(slice(column, skipped, taken));
    }
    batches.push_back(std::move(part));
  }
  return table_of(table.schema, std::move(batches));
}

}  // namespace

Result<Chain> Lowering::lower(const plan::Node& node) {
  switch (node.operation.index()) {
    case 0:
      return lower_scan(node);
    case 1:
      return lower_filter(node);
    case 2:
      return lower_project(node);
    case 3:
      return lower_join(node);
    case 4:
      return lower_group(node);
    case 5:
      return lower_sort(node);
    default:
      return lower_limit(node);
  }
}

Result<Chain> Lowering::lower_scan(const plan::Node& node) {
  const auto& scan = std::get<plan::Scan>(node.operation);
  CD_ASSIGN(auto store, operators::store_rows(*scan.table, scan.name.c_str()));
  return table_chain(scan.table, std::move(store), scan.name, workers_);
}

Status Lowering::add_filters(Chain& chain, const std::vector<ExpressionPtr>& conditions) {
  std::vector<ExpressionPtr> parts[2];  // on numbers, on strings
  for (const ExpressionPtr& condition : conditions) {
    parts[reads_strings(*condition) ? 1 : 0].push_back(condition);
  }
  for (const auto& part : parts) {
    if (part.empty()) continue;
    CD_ASSIGN(auto stage,
              make_filter_stage(chain.schema, part, workers_, environment_.memory));
    chain.stages.push_back(std::move(stage));
  }
  return sample_chain(chain);
}

Result<Chain> Lowering::lower_filter(const plan::Node& node) {
  CD_ASSIGN(Chain chain, lower(node.input()));
  CD_TRY(add_filters(chain, std::get<plan::Filter>(node.operation).conditions));
  return chain;
}

Result<Chain> Lowering::lower_project(const plan::Node& node) {
  CD_ASSIGN(Chain chain, lower(node.input()));
  std::vector<ExpressionPtr> computed;
  std::vector<ColumnPlace> places;
  const auto first = static_cast<int>(chain.schema.computed.size());
  for (const auto& item : std::get<plan::Project>(node.operation).items) {
    if (item.expression->op == ExpressionOp::kColumn) {
      places.push_back(chain.schema.places[item.expression->column]);
      continue;
    }
    places.push_back({-1, first + static_cast<int>(computed.size())});
    computed.push_back(item.expression);
  }
  if (!computed.empty()) {
    CD_ASSIGN(auto stage,
              make_compute_stage(chain.schema, computed, workers_, environment_.memory));
    chain.stages.push_back(std::move(stage));
  }
  for (const ExpressionPtr& expression : computed) {
    chain.schema.computed.push_back(expression->type);
  }
  chain.schema.places = std::move(places);
  chain.schema.schema = node.schema;
  return chain;
}

Result<TablePtr> Lowering::materialise(Chain chain) {
  if (chain.is_bare()) return projected(chain);
  const auto start = std::chrono::steady_clock::now();
  CollectSink sink(chain, workers_, environment_.memory);
  CD_TRY(run_chain(run_, chain, sink));
  CD_ASSIGN(std::vector<Batch> batches, sink.finish());
  TablePtr table = table_of(chain.schema.schema, std::move(batches));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  note(fmt::format("{:9.6f} s  {:>12} rows  {} -> table",
                   elapsed.count(),
                   table->rows,
                   describe_chain(chain)));
  return table;
}

Result<Chain> Lowering::lower_sort(const plan::Node& node) {
  const auto& sort = std::get<plan::Sort>(node.operation);
  CD_ASSIGN(Chain chain, lower(node.input()));
  CD_ASSIGN(TablePtr table, materialise(std::move(chain)));
  const int64_t rows = table->rows;
  CD_ASSIGN(auto sorted, operators::TableSort::create(sort.spec, std::move(table), environment_));
  const int64_t kept = sort.spec.limit < 0 ? rows : std::min(rows, sort.spec.limit);
  return operator_chain(std::move(sorted), "sort", true, kept);
}

Result<Chain> Lowering::lower_limit(const plan::Node& node) {
  const auto& limit = std::get<plan::Limit>(node.operation);
  CD_ASSIGN(Chain chain, lower(node.input()));
  CD_ASSIGN(const TablePtr table, materialise(std::move(chain)));
  TablePtr rows = limited(*table, limit.rows, limit.offset);
  CD_ASSIGN(auto store, operators::store_rows(*rows, "limit"));
  return table_chain(std::move(rows), std::move(store), "limit", workers_);
}

}  // namespace crossdock::execution
