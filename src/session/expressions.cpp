// The public computed columns: JSON becomes a program.
#include "session/expressions.hpp"

#include "base/team.hpp"
#include "expressions/computed_columns.hpp"
#include "session/state.hpp"

namespace crossdock {

Result<expressions::ComputedColumns> make_computed(const ComputeOptions& options,
                                                   const Schema& schema) {
  expressions::ComputedColumns computed;
  std::vector<expressions::ExpressionPtr> filters;
  if (!options.where.empty()) {
    CD_ASSIGN(filters, expressions::parse_expressions(options.where, schema));
  }
  std::vector<expressions::ExpressionPtr> outputs;
  for (const ComputedColumn& column : options.columns) {
    CD_ASSIGN(outputs.emplace_back(), expressions::parse_expression(column.expression, schema));
    computed.names.push_back(column.name);
    CD_TRY(expressions::check_computed(column.name, outputs.back()->type));
  }
  CD_ASSIGN(computed.program, expressions::Program::create(std::move(filters), std::move(outputs)));
  computed.mask = options.mask;
  return computed;
}

ArrowTable compute_columns(const Engine& engine,
                           const ArrowTable& table,
                           const ComputeOptions& options) {
  const Engine::State& state = *engine.state();
  const Table& rows = *table.state()->table;
  const expressions::ComputedColumns computed =
      value_or_throw(make_computed(options, *rows.schema));
  Team team(state.threads);
  auto made = std::make_shared<ArrowTable::State>();
  made->table = value_or_throw(
      expressions::with_computed_columns(rows, computed, team, *state.memory, CancelFlag()));
  return ArrowTable(std::move(made));
}

}  // namespace crossdock
