// The public join: names become columns.
#include <optional>

#include <fmt/format.h>

#include "base/choices.hpp"
#include "base/team.hpp"
#include "data/ranks/thread_communicator.hpp"
#include "operators/hash_join/hash_join.hpp"
#include "session/rank_join.hpp"
#include "session/specs.hpp"
#include "session/state.hpp"
#include "table/arrow_export.hpp"

namespace crossdock {
namespace {

constexpr Choice<operators::OutputSide> kSides[] = {{"left", operators::OutputSide::kLeft},
                                                    {"right", operators::OutputSide::kRight},
                                                    {"key", operators::OutputSide::kKey}};
constexpr Choice<std::optional<operators::Side>> kBuilds[] = {
    {"auto", std::nullopt}, {"left", operators::Side::kLeft}, {"right", operators::Side::kRight}};

struct SideNames {
  const Schema* schema;
  const char* where;
};

Result<std::vector<operators::OutputColumn>> resolve(const std::vector<OutputItem>& items,
                                                     SideNames left,
                                                     SideNames right) {
  std::vector<operators::OutputColumn> columns;
  for (const OutputItem& item : items) {
    operators::OutputColumn column;
    column.name = item.name;
    CD_ASSIGN(
        column.side,
        parse_choice(kSides, fmt::format("side of output column '{}'", item.name), item.side));
    const SideNames& names = column.side == operators::OutputSide::kRight ? right : left;
    CD_ASSIGN(column.column, names.schema->find(item.column, names.where));
    columns.push_back(std::move(column));
  }
  return columns;
}

// The residual of the public API takes C structs and throws; the operator's takes batches and answers
// with a Status.
operators::ResidualFilter wrap_residual(Residual residual) {
  return [residual = std::move(residual)](const Batch& pairs, uint8_t* keep) -> Status {
    ArrowSchema schema;
    ArrowArray array;
    export_schema(*pairs.schema, &schema);
    export_batch(pairs, &array);
    try {
      residual(&schema, &array, keep);
    } catch (const std::exception& failure) {
      return make_error(
          ErrorCode::kResidualFailed, "the residual predicate failed: {}", failure.what());
    }
    return {};
  };
}

}  // namespace

Result<operators::JoinSpec> join_spec(const JoinOptions& options,
                                      const Schema& left,
                                      const Schema& right) {
  const SideNames left_names{&left, "left table"};
  const SideNames right_names{&right, "right table"};
  operators::JoinSpec spec;
  CD_ASSIGN(spec.kind, operators::parse_join_kind(options.how));
  CD_ASSIGN(spec.strategy, operators::parse_strategy(options.strategy));
  CD_ASSIGN(spec.materialize, operators::parse_materialize(options.materialize));
  CD_ASSIGN(spec.filter, operators::parse_filter(options.filter));
  CD_ASSIGN(spec.sorted[0], operators::parse_sortedness("sorted_left", options.sorted_left));
  CD_ASSIGN(spec.sorted[1], operators::parse_sortedness("sorted_right", options.sorted_right));
  CD_ASSIGN(const std::optional<operators::Side> build,
            parse_choice(kBuilds, "build", options.build));
  spec.build_is_forced = build.has_value();
  spec.forced_build = build.value_or(spec.forced_build);
  for (const auto& [left_name, right_name] : options.on) {
    CD_ASSIGN(const int left_column, left.find(left_name, left_names.where));
    CD_ASSIGN(const int right_column, right.find(right_name, right_names.where));
    spec.keys.emplace_back(left_column, right_column);
  }
  CD_ASSIGN(spec.output, resolve(options.output, left_names, right_names));
  CD_ASSIGN(spec.residual_columns, resolve(options.residual_columns, left_names, right_names));
  if (options.residual) spec.residual = wrap_residual(options.residual);
  spec.null_equals_null = options.null_equals_null;
  spec.partition_bits = options.partition_bits;
  spec.batch_rows = options.batch_rows;
  return spec;
}

Join::Join(const Engine& engine,
           const ArrowTable& left,
           const ArrowTable& right,
           const JoinOptions& options) {
  const TablePtr& left_table = left.state()->table;
  const TablePtr& right_table = right.state()->table;
  operators::JoinSpec spec =
      value_or_throw(join_spec(options, *left_table->schema, *right_table->schema));
  state_ = operation_state(engine,
                           value_or_throw(operators::HashJoin::create(
                               std::move(spec), left_table, right_table, run_environment(engine))));
}

Join::Join(const Engine& engine, std::shared_ptr<const operators::RankSides> sides) {
  state_ = operation_state(engine,
                           operators::HashJoin::create(std::move(sides), run_environment(engine)));
}

Result<operators::RankPartition> partition_join(ranks::Communicator& ranks,
                                                const Engine& engine,
                                                const ArrowTable& left,
                                                const ArrowTable& right,
                                                const JoinOptions& options) {
  const TablePtr& left_table = left.state()->table;
  const TablePtr& right_table = right.state()->table;
  const auto spec = join_spec(options, *left_table->schema, *right_table->schema);
  CD_TRY(ranks.agree(spec.ok() ? Status() : Status(spec.error())));
  const operators::RunEnvironment environment = run_environment(engine);
  std::optional<Team> team;
  const int workers =
      operators::workers_for(left_table->rows + right_table->rows, environment.threads);
  CD_TRY(ranks.agree(operators::start_team(workers, team)));
  return operators::partition_over_ranks(
      {&ranks, &*team, environment.memory}, spec.value(), left_table, right_table, environment);
}

// What ranks would find if they had no rows.
Result<std::string> partition_refusal(int ranks,
                                      const Engine& engine,
                                      const ArrowTable& left,
                                      const ArrowTable& right,
                                      const JoinOptions& options) {
  CD_ASSIGN(const auto alone, ranks::make_thread_communicators({.ranks = 1}));
  CD_ASSIGN(const operators::RankPartition partition,
            partition_join(*alone.front(), engine, left, right, options));
  if (partition.reason.empty() && ranks > operators::kPartitionRanksMax &&
      options.partition_bits < 0) {
    return fmt::format("{} ranks are more than {}", ranks, operators::kPartitionRanksMax);
  }
  return partition.reason;
}

}  // namespace crossdock
