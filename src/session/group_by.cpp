// The public group-by: names become columns.
#include <algorithm>

#include "operators/group_by/distinct_counts.hpp"
#include "session/expressions.hpp"
#include "session/specs.hpp"
#include "session/state.hpp"

namespace crossdock {
namespace {

Result<operators::AggregateSpec> make_aggregate(const AggregateItem& item, const Schema& schema) {
  operators::AggregateSpec aggregate;
  CD_ASSIGN(aggregate.function, operators::parse_aggregate_function(item.function));
  if (!item.column.empty()) {
    CD_ASSIGN(aggregate.column, schema.find(item.column, "table"));
  }
  if (!item.filter.empty()) {
    CD_ASSIGN(aggregate.filter, schema.find(item.filter, "table"));
  }
  if (item.floats != "fast" && item.floats != "exact") {
    return make_error(ErrorCode::kInvalidArgument,
                      "floats of '{}' is '{}', but must be fast or exact",
                      item.name,
                      item.floats);
  }
  aggregate.floats =
      item.floats == "exact" ? operators::FloatSums::kExact : operators::FloatSums::kFast;
  aggregate.name = item.name;
  aggregate.wide = item.wide;
  aggregate.ddof = item.ddof;
  aggregate.quantile = item.quantile;
  return aggregate;
}

// Leaves rows out altogether. Distinct values are counted by a grouping of their own, which has one
// filter.
Status add_row_filter(const std::string& where, const Schema& schema, operators::GroupSpec& spec) {
  CD_ASSIGN(spec.row_filter, schema.find(where, "table"));
  if (schema.fields[spec.row_filter].type.id != TypeId::kBool) {
    return make_error(ErrorCode::kInvalidArgument, "where='{}' is no bool column", where);
  }
  for (operators::AggregateSpec& aggregate : spec.aggregates) {
    if (aggregate.function != operators::AggregateFunction::kCountDistinct) continue;
    if (aggregate.filter >= 0) {
      return make_error(ErrorCode::kInvalidArgument,
                        "count_distinct '{}' has a filter, and where='{}' is another\n"
                        "  try      one column that says both",
                        aggregate.name,
                        where);
    }
    aggregate.filter = spec.row_filter;
  }
  return {};
}

}  // namespace

Result<operators::GroupSpec> group_spec(const GroupByOptions& options, const Schema& schema) {
  operators::GroupSpec spec;
  CD_ASSIGN(spec.strategy, operators::parse_group_strategy(options.strategy));
  for (const std::string& name : options.keys) {
    CD_ASSIGN(const int column, schema.find(name, "table"));
    spec.keys.push_back(column);
  }
  for (const AggregateItem& item : options.aggregates) {
    CD_ASSIGN(operators::AggregateSpec aggregate, make_aggregate(item, schema));
    spec.aggregates.push_back(std::move(aggregate));
  }
  if (!options.where.empty()) CD_TRY(add_row_filter(options.where, schema, spec));
  spec.batch_rows = options.batch_rows;
  return spec;
}

namespace {

// The name of the bool column of the rows that are kept, where they must be marked: no column's.
std::string unused_name(const Schema& schema, const GroupByOptions& options) {
  std::string name = "kept";
  const auto is_taken = [&] {
    return std::any_of(schema.fields.begin(),
                       schema.fields.end(),
                       [&](const Field& field) { return field.name == name; }) ||
           std::any_of(options.computed.begin(), options.computed.end(), [&](const auto& column) {
             return column.name == name;
           });
  };
  while (is_taken()) name += "_";
  return name;
}

// A group-by over filters and computed columns: they are computed while rows are read, or where
// something must be known of them before, or they are wanted by reference, into columns first.
Result<std::unique_ptr<operators::Operator>> plan_computed(GroupByOptions options,
                                                           const Table& rows,
                                                           operators::RunEnvironment environment) {
  if (!options.where.empty() && !options.filters.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "where='{}' and filters= are given\n  try      where= as one of the filters",
                      options.where);
  }
  CD_ASSIGN(expressions::ComputedColumns computed,
            make_computed({options.computed, options.filters, ""}, *rows.schema));
  const int first_computed = rows.schema->column_count();
  TablePtr table = expressions::with_places(rows, computed);
  CD_ASSIGN(operators::GroupSpec spec, group_spec(options, *table->schema));
  if (operators::reads_computed_as_numbers(spec, first_computed, *computed.program)) {
    spec.program = computed.program;
    spec.first_computed = first_computed;
    return operators::plan_group_by(std::move(spec), std::move(table), std::move(environment));
  }
  if (!options.filters.empty()) {
    computed.mask = unused_name(*rows.schema, options);
    options.where = computed.mask;
  }
  Team team(environment.threads);
  CD_ASSIGN(
      table,
      expressions::with_computed_columns(rows, computed, team, *environment.memory, CancelFlag()));
  CD_ASSIGN(spec, group_spec(options, *table->schema));
  return operators::plan_group_by(std::move(spec), std::move(table), std::move(environment));
}

}  // namespace

GroupBy::GroupBy(const Engine& engine, const ArrowTable& table, const GroupByOptions& options) {
  const TablePtr& rows = table.state()->table;
  const operators::RunEnvironment environment = run_environment(engine);
  if (!options.filters.empty() || !options.computed.empty()) {
    state_ = operation_state(engine, value_or_throw(plan_computed(options, *rows, environment)));
    return;
  }
  operators::GroupSpec spec = value_or_throw(group_spec(options, *rows->schema));
  state_ = operation_state(
      engine, value_or_throw(operators::plan_group_by(std::move(spec), rows, environment)));
}

}  // namespace crossdock
