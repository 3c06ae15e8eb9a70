// The public group-by: names become columns.
#include <algorithm>

#include "operators/group_by/distinct_counts.hpp"
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

GroupBy::GroupBy(const Engine& engine, const ArrowTable& table, const GroupByOptions& options) {
  const TablePtr& rows = table.state()->table;
  const operators::RunEnvironment environment = run_environment(engine);
  operators::GroupSpec spec = value_or_throw(group_spec(options, *rows->schema));
  state_ = operation_state(
      engine, value_or_throw(operators::plan_group_by(std::move(spec), rows, environment)));
}

}  // namespace crossdock
