// Window functions: a pipeline makes the table that they sort, or, where all are aggregates of whole partitions, group
// and look up: the rows stay as they lie then.
#include <algorithm>
#include <set>

#include "execution/column_ranges.hpp"
#include "execution/lowering.hpp"
#include "operators/group_by/distinct_counts.hpp"
#include "operators/run/morsel.hpp"
#include "operators/window/table_window.hpp"

namespace crossdock::execution {
namespace {

using operators::OutputSide;

bool is_of_groups(const operators::WindowSpec& spec) {
  const std::set<int> keys(spec.partition.begin(), spec.partition.end());
  return !keys.empty() && keys.size() == spec.partition.size() &&
         std::ranges::all_of(spec.items, [&](const operators::WindowItem& item) {
           return operators::is_window_aggregate(item.function) &&
                  spec.frame_of(item).is_partition();
         });
}

// The rows, joined to the groups by their keys. Keys that may be NULL have wider words.
plan::Node rows_with_groups(const plan::Node& node, const RowStore& rows) {
  const auto& spec = std::get<plan::Window>(node.operation).spec;
  plan::Join join;
  join.spec.null_equals_null = std::ranges::any_of(spec.partition, [&](int key) {
    const ChunkedColumn& column = rows.column(key);
    return column.any_nulls ||
           (column.dictionary != nullptr && column.dictionary->validity != nullptr);
  });
  const auto keys = static_cast<int>(spec.partition.size());
  for (int k = 0; k < keys; ++k) join.spec.keys.emplace_back(spec.partition[k], k);
  const int inputs = node.input().schema->column_count();
  for (int c = 0; c < node.schema->column_count(); ++c) {
    const bool is_input = c < inputs;
    join.spec.output.push_back({is_input ? OutputSide::kLeft : OutputSide::kRight,
                                is_input ? c : keys + c - inputs,
                                node.schema->fields[c].name});
  }
  return {std::move(join), {}, node.schema};
}

}  // namespace

Result<Chain> Lowering::window_of_groups(const plan::Node& node, TablePtr table) {
  const auto& spec = std::get<plan::Window>(node.operation).spec;
  CD_ASSIGN(auto store, operators::store_rows(*table, "window"));
  CD_ASSIGN(Chain groups, table_group(operators::groups_of(spec), table, table->rows));
  groups.source_node = &node;
  CD_ASSIGN(groups, build_side(std::move(groups)));
  CD_TRY(sample_chain(groups));
  const int64_t row_count = table->rows;
  Chain rows = table_chain(std::move(table), store, "window", workers_);
  for (size_t k = 0; k < spec.partition.size(); ++k) {  // groups have the keys of the rows
    const int column = spec.partition[k];
    if (!is_signed_integer(rows.schema.schema->fields[column].type.id)) continue;
    CD_ASSIGN(const auto range, range_of(run_, rows, column, row_count));
    if (!range.known || range.empty) continue;
    groups.ranges.emplace_back(
        groups.schema.places[k],
        operators::KeyRange{static_cast<int64_t>(range.min), static_cast<int64_t>(range.max)});
  }
  return probe_join(rows_with_groups(node, *store), std::move(rows), std::move(groups), false);
}

Result<Chain> Lowering::lower_window(const plan::Node& node) {
  CD_ASSIGN(Chain chain, lower(node.input()));
  CD_ASSIGN(TablePtr table, materialise(std::move(chain)));
  const int64_t rows = table->rows;
  const auto& spec = std::get<plan::Window>(node.operation).spec;
  if (rules_.has(Rule::kGroupedWindows) && is_of_groups(spec)) {
    return window_of_groups(node, std::move(table));
  }
  CD_ASSIGN(auto window, operators::TableWindow::create(spec, std::move(table), environment_));
  return operator_chain(std::move(window), "window", true, rows);
}

}  // namespace crossdock::execution
