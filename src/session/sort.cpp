// The public sort: names become columns.
#include "base/team.hpp"
#include "operators/sort/rank_sort.hpp"
#include "operators/sort/table_sort.hpp"
#include "session/rank_sort.hpp"
#include "session/specs.hpp"
#include "session/state.hpp"

namespace crossdock {
Result<operators::SortSpec> sort_spec(const SortOptions& options, const Schema& schema) {
  operators::SortSpec spec;
  CD_ASSIGN(spec.strategy, operators::parse_sort_strategy(options.strategy));
  for (const OrderItem& key : options.keys) {
    CD_ASSIGN(const int column, schema.find(key.column, "table"));
    spec.keys.push_back({column, key.descending, key.nulls_first});
  }
  for (const auto& [name, result_name] : options.output) {
    CD_ASSIGN(const int column, schema.find(name, "table"));
    spec.output.push_back({column, result_name});
  }
  spec.limit = options.limit;
  spec.offset = options.offset;
  spec.stable = options.stable;
  spec.row_index = options.row_index;
  spec.batch_rows = options.batch_rows;
  spec.digit_bits = options.digit_bits;
  return spec;
}

Sort::Sort(const Engine& engine, const ArrowTable& table, const SortOptions& options) {
  const TablePtr& rows = table.state()->table;
  operators::SortSpec spec = value_or_throw(sort_spec(options, *rows->schema));
  state_ = operation_state(
      engine,
      value_or_throw(operators::TableSort::create(std::move(spec), rows, run_environment(engine))));
}

Result<TablePtr> sort_rows(ranks::Communicator& ranks,
                           const Engine& engine,
                           const ArrowTable& rows,
                           const SortOptions& options) {
  const TablePtr& table = rows.state()->table;
  const auto spec = sort_spec(options, *table->schema);
  CD_TRY(ranks.agree(spec.ok() ? Status() : Status(spec.error())));
  const operators::RunEnvironment environment = run_environment(engine);
  std::optional<Team> team;
  CD_TRY(ranks.agree(
      operators::start_team(operators::workers_for(table->rows, environment.threads), team)));
  CD_ASSIGN(operators::RankSorted sorted,
            operators::sort_over_ranks(
                {&ranks, &*team, environment.memory}, spec.value(), table, environment));
  return std::move(sorted.rows);
}

}  // namespace crossdock
