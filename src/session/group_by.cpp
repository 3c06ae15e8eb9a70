// The public group-by: names become columns.
#include "base/choices.hpp"
#include "operators/group_by/distinct_counts.hpp"
#include "session/specs.hpp"
#include "session/state.hpp"

namespace crossdock {
namespace {

constexpr Choice<operators::FloatSums> kFloats[] = {{"fast", operators::FloatSums::kFast},
                                                    {"exact", operators::FloatSums::kExact}};

Result<operators::AggregateSpec> make_aggregate(const AggregateItem& item, const Schema& schema) {
  operators::AggregateSpec aggregate;
  CD_ASSIGN(aggregate.function, operators::parse_aggregate_function(item.function));
  if (!item.column.empty()) {
    CD_ASSIGN(aggregate.column, schema.find(item.column, "table"));
  }
  if (!item.filter.empty()) {
    CD_ASSIGN(aggregate.filter, schema.find(item.filter, "table"));
  }
  if (!item.by.empty()) {
    CD_ASSIGN(aggregate.by, schema.find(item.by, "table"));
  }
  CD_ASSIGN(aggregate.floats,
            parse_choice(kFloats, fmt::format("floats of '{}'", item.name), item.floats));
  aggregate.name = item.name;
  aggregate.wide = item.wide;
  aggregate.ignore_nulls = item.ignore_nulls;
  aggregate.last_of_equals = item.last_of_equals;
  aggregate.ddof = item.ddof;
  aggregate.quantile = item.quantile;
  return aggregate;
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
