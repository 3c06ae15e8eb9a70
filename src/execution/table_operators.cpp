#include "execution/table_operators.hpp"

#include <algorithm>

#include "execution/block.hpp"
#include "execution/range_conditions.hpp"
#include "execution/table_layers.hpp"
#include "expressions/block_evaluator.hpp"
#include "expressions/computed_columns.hpp"
#include "operators/group_by/distinct_counts.hpp"
#include "operators/hash_join/hash_join.hpp"
#include "operators/sort/table_sort.hpp"

namespace crossdock::execution {
namespace {

using expressions::ExpressionOp;
using expressions::ExpressionPtr;
using operators::GroupSpec;
using operators::JoinKind;
using operators::JoinSpec;
using operators::OutputColumn;
using operators::OutputSide;

// Two tables of at least this many rows each are joined by an operator that partitions both: each probe of a table
// that large misses all caches.
constexpr int64_t kPartitionedRows = int64_t{1} << 21;

// A residual condition for the operator that joins tables.
Result<operators::ResidualFilter> residual_filter(const expressions::ExpressionPtr& condition,
                                                  std::shared_ptr<Memory> memory) {
  CD_ASSIGN(auto program, expressions::Program::create({condition}, {}));
  return operators::ResidualFilter(
      [program, memory = std::move(memory)](const Batch& pairs, uint8_t* keep) -> Status {
        CD_ASSIGN(auto evaluator, expressions::BlockEvaluator::create(program, *memory));
        for (int64_t at = 0; at < pairs.rows; at += kBlockRows) {
          const auto rows = static_cast<int32_t>(std::min<int64_t>(kBlockRows, pairs.rows - at));
          CD_TRY(evaluator.filter(pairs, at, rows));
          if (evaluator.kept() == nullptr) {
            std::fill_n(keep + at, rows, uint8_t{1});
          } else {
            std::copy_n(evaluator.kept(), rows, keep + at);
          }
        }
        return {};
      });
}

// The spec over other columns: column c becomes places[c].
GroupSpec moved(GroupSpec spec, const std::vector<int>& places) {
  for (int& key : spec.keys) key = places[key];
  for (auto& aggregate : spec.aggregates) {
    if (aggregate.column >= 0) aggregate.column = places[aggregate.column];
    if (aggregate.filter >= 0) aggregate.filter = places[aggregate.filter];
    if (aggregate.by >= 0) aggregate.by = places[aggregate.by];
  }
  if (spec.row_filter >= 0) spec.row_filter = places[spec.row_filter];
  return spec;
}

bool has_twice(std::vector<int> columns) {
  std::sort(columns.begin(), columns.end());
  return std::adjacent_find(columns.begin(), columns.end()) != columns.end();
}

bool is_renaming(const plan::Node& node) {
  const auto* project = std::get_if<plan::Project>(&node.operation);
  return project != nullptr &&
         std::all_of(project->items.begin(), project->items.end(), [](const auto& item) {
           return item.expression->op == ExpressionOp::kColumn;
         });
}

bool aggregates_all(const plan::Node& node) {
  const auto* group = std::get_if<plan::Group>(&node.operation);
  return group != nullptr && group->spec.keys.empty();
}

bool is_forced(const JoinSpec& spec) {
  using operators::Sortedness;
  return spec.strategy != operators::Strategy::kAuto || spec.build_is_forced ||
         spec.materialize != operators::Materialize::kAuto ||
         spec.filter != operators::Filter::kAuto || spec.partition_bits >= 0 ||
         spec.batch_rows > 0 || spec.residual != nullptr || spec.sorted[0] != Sortedness::kDetect ||
         spec.sorted[1] != Sortedness::kDetect;
}

// The rows of a node that gives columns of a table as they are; nullptr: it does more.
TablePtr table_below(const plan::Node& node) {
  TableLayers layers;
  if (!add_layers(node, layers) || !layers.conditions.empty()) return nullptr;
  const Table& whole = *layers.scan->table;
  auto table = std::make_shared<Table>();
  table->schema = node.schema;
  table->rows = whole.rows;
  for (const Batch& batch : whole.batches) {
    Batch& narrow = table->batches.emplace_back(Batch{node.schema, batch.rows, {}, batch.owner});
    for (const ExpressionPtr& column : layers.columns) {
      if (column->op != ExpressionOp::kColumn) return nullptr;
      narrow.columns.push_back(batch.columns[column->column]);
    }
  }
  return table;
}

}  // namespace

const plan::Node* last_operator(const plan::Node& root) {
  const plan::Node* node = &root;
  bool aggregates = false;
  while (is_renaming(*node) || (aggregates_all(*node) && !aggregates)) {
    aggregates = aggregates || aggregates_all(*node);
    node = &node->input();
  }
  return std::holds_alternative<plan::Join>(node->operation) ? node : nullptr;
}

bool is_plain_integer(const DataType& left, const DataType& right) {
  return left.id == right.id && (is_signed_integer(left.id) || is_unsigned_integer(left.id));
}

// A key column of an outer join that comes from either side is one column of blocks only where both sides have the same
// bytes, and only where one of them is always there.
bool needs_tables(const plan::Node& node) {
  const auto& join = std::get<plan::Join>(node.operation);
  const JoinSpec& spec = join.spec;
  if (is_forced(spec)) return true;
  if (spec.kind == JoinKind::kAntiNullAware) {
    return spec.keys.size() != 1 || join.residual != nullptr;
  }
  if (spec.kind != JoinKind::kRight && spec.kind != JoinKind::kFull) return false;
  return std::any_of(spec.output.begin(), spec.output.end(), [&](const OutputColumn& column) {
    if (column.side != OutputSide::kKey) return false;
    if (spec.kind == JoinKind::kFull) return true;
    return std::none_of(spec.keys.begin(), spec.keys.end(), [&](const auto& key) {
      return key.first == column.column &&
             is_plain_integer(node.input(0).schema->fields[key.first].type,
                              node.input(1).schema->fields[key.second].type);
    });
  });
}

bool joins_tables(const plan::Node& node, int64_t rows, bool is_last) {
  const auto& join = std::get<plan::Join>(node.operation);
  if (has_range_conditions(join.spec, join.residual)) return false;
  return is_last || rows >= kPartitionedRows;
}

bool counts_rows(const GroupSpec& spec) {
  if (!spec.keys.empty() || spec.aggregates.empty() || spec.row_filter >= 0) return false;
  return std::all_of(
      spec.aggregates.begin(), spec.aggregates.end(), [](const operators::AggregateSpec& one) {
        return one.function == operators::AggregateFunction::kCount && one.column < 0 &&
               one.filter < 0;
      });
}

PlannedOperator plan_table_join(const plan::Join& join,
                                TablePtr left,
                                TablePtr right,
                                const operators::RunEnvironment& environment) {
  JoinSpec spec = join.spec;
  if (join.residual != nullptr) {
    CD_ASSIGN(spec.residual, residual_filter(join.residual, environment.memory));
  }
  CD_ASSIGN(
      auto joined,
      operators::HashJoin::create(std::move(spec), std::move(left), std::move(right), environment));
  return std::unique_ptr<operators::Operator>(std::move(joined));
}

PlannedOperator plan_table_group(const plan::Node& node,
                                 const operators::RunEnvironment& environment) {
  std::unique_ptr<operators::Operator> none;
  TableLayers layers;
  if (!add_layers(node.input(), layers)) return none;
  const TablePtr& table = layers.scan->table;
  expressions::ComputedColumns computed;
  std::vector<ExpressionPtr> outputs;
  std::vector<int> places;
  const int first_computed = table->schema->column_count();
  for (const ExpressionPtr& column : layers.columns) {
    if (column->op == ExpressionOp::kColumn) {
      places.push_back(column->column);
      continue;
    }
    places.push_back(first_computed + static_cast<int>(outputs.size()));
    computed.names.push_back(fmt::format("#{}", outputs.size()));
    outputs.push_back(column);
  }
  GroupSpec spec = moved(std::get<plan::Group>(node.operation).spec, places);
  if (has_twice(spec.keys)) return none;  // a column of the table under two names
  // An aggregate may have the name that a key has in the table.
  for (operators::AggregateSpec& aggregate : spec.aggregates) {
    aggregate.name = "\x01" + aggregate.name;
  }
  if (layers.conditions.empty() && outputs.empty()) {
    return operators::plan_group_by(std::move(spec), table, environment);
  }
  CD_ASSIGN(computed.program,
            expressions::Program::create(std::move(layers.conditions), std::move(outputs)));
  if (!operators::reads_computed_as_numbers(spec, first_computed, *computed.program)) return none;
  spec.program = computed.program;
  spec.first_computed = first_computed;
  return operators::plan_group_by(
      std::move(spec), expressions::with_places(*table, computed), environment);
}

PlannedOperator plan_over_tables(const plan::Node& node,
                                 bool is_last,
                                 const operators::RunEnvironment& environment) {
  std::unique_ptr<operators::Operator> none;
  if (const auto* group = std::get_if<plan::Group>(&node.operation)) {
    if (counts_rows(group->spec)) return none;
    return plan_table_group(node, environment);
  }
  if (const auto* sort = std::get_if<plan::Sort>(&node.operation)) {
    TablePtr rows = table_below(node.input());
    if (rows == nullptr) return none;
    CD_ASSIGN(auto sorted, operators::TableSort::create(sort->spec, std::move(rows), environment));
    return std::unique_ptr<operators::Operator>(std::move(sorted));
  }
  const auto* join = std::get_if<plan::Join>(&node.operation);
  if (join == nullptr) return none;
  TablePtr left = table_below(node.input(0));
  TablePtr right = table_below(node.input(1));
  if (left == nullptr || right == nullptr) return none;
  const int64_t rows = std::min(left->rows, right->rows);
  if (!needs_tables(node) && !joins_tables(node, rows, is_last)) return none;
  return plan_table_join(*join, std::move(left), std::move(right), environment);
}

}  // namespace crossdock::execution
