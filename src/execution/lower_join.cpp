// Joins: which side is built, and what the other one is looked up in.
#include <algorithm>
#include <iterator>

#include "execution/build_sink.hpp"
#include "execution/column_ranges.hpp"
#include "execution/key_filter_stage.hpp"
#include "execution/lowering.hpp"
#include "execution/probe_stage.hpp"
#include "execution/row_numbers.hpp"
#include "execution/table_operators.hpp"
#include "operators/hash_join/hash_join.hpp"
#include "operators/hash_join/rank_sides.hpp"
#include "operators/run/morsel.hpp"
#include "operators/run/operator.hpp"

namespace crossdock::execution {
namespace {

using operators::JoinKind;
using operators::JoinRoles;
using operators::JoinSpec;
using operators::OutputColumn;
using operators::OutputSide;
using operators::Side;

// What it costs to look a key up in a filter, in comparisons of integers.
constexpr double kProbeCost = 1.5;

// Of a join whose build side is the left one, or the right one.
JoinRoles roles_of(JoinKind kind, bool build_is_left) {
  return operators::join_roles(kind, build_is_left ? Side::kLeft : Side::kRight);
}

// The sides of a join, seen from the build and the probe side.
class Sides {
 public:
  Sides(const plan::Join& join, const Chain& probe, const Chain& build, bool build_is_left)
      : join_(join), probe_(probe), build_(build), build_is_left_(build_is_left) {}

  JoinSpec key_spec() const {
    JoinSpec spec;
    spec.null_equals_null = join_.spec.null_equals_null;
    for (const auto& [left, right] : join_.spec.keys) {
      spec.keys.emplace_back(build_is_left_ ? right : left, build_is_left_ ? left : right);
    }
    return spec;
  }

  // The build side's column behind an output column, or -1: it is one of the probe side, `probe_column`.
  int build_column(const OutputColumn& column, int* probe_column) const {
    bool is_left = column.side != OutputSide::kRight;
    int of_side = column.column;
    if (column.side == OutputSide::kKey) {
      // Equal integers are the same bytes: taken from the side that is always there, or need not be looked up.
      const bool wants_right = join_.spec.kind == JoinKind::kRight ||
                               (join_.spec.kind == JoinKind::kInner && build_is_left_);
      const int partner = partner_of(column.column);
      if (wants_right && partner >= 0) {
        is_left = false;
        of_side = partner;
      }
    }
    *probe_column = of_side;
    return is_left == build_is_left_ ? of_side : -1;
  }

  // Columns of the build side that are read after the probe.
  std::vector<int> payload(bool verifies) const {
    std::vector<int> columns;
    int probe_column = 0;
    const auto add = [&](const std::vector<OutputColumn>& of) {
      for (const OutputColumn& column : of) {
        const int built = build_column(column, &probe_column);
        if (built >= 0) columns.push_back(built);
      }
    };
    add(join_.spec.output);
    add(join_.spec.residual_columns);
    for (const auto& [left, right] : join_.spec.keys) {
      if (verifies) columns.push_back(build_is_left_ ? left : right);
    }
    std::ranges::sort(columns);
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    return columns;
  }

  // Columns of the build side that the residual condition reads.
  std::vector<int> residual_columns() const {
    std::vector<int> columns;
    int probe_column = 0;
    for (const OutputColumn& column : join_.spec.residual_columns) {
      const int built = build_column(column, &probe_column);
      if (built >= 0) columns.push_back(built);
    }
    return columns;
  }

  // By residual column, whether it is one of the build side.
  std::vector<bool> read_of_build() const {
    std::vector<bool> is_build;
    int probe_column = 0;
    for (const OutputColumn& column : join_.spec.residual_columns) {
      is_build.push_back(build_column(column, &probe_column) >= 0);
    }
    return is_build;
  }

  // Blocks of pairs, with these columns.
  BlockSchema pairs(const std::vector<OutputColumn>& columns,
                    SchemaPtr schema,
                    const BuildSink& sink,
                    const RowStore* store) const {
    BlockSchema blocks = probe_.schema;
    const auto built = static_cast<int>(blocks.stores.size());
    blocks.places.clear();
    for (const OutputColumn& column : columns) {
      int probe_column = 0;
      const int build = build_column(column, &probe_column);
      blocks.places.push_back(build < 0 ? probe_.schema.places[probe_column]
                                        : *sink.place_behind(build_.schema.places[build], built));
    }
    blocks.schema = std::move(schema);
    blocks.stores.push_back(store);
    const JoinRoles rows = roles_of(join_.spec.kind, build_is_left_);
    if (rows.build_unmatched) blocks.nullable.assign(blocks.nullable.size(), true);
    blocks.nullable.push_back(rows.probe_unmatched);
    return blocks;
  }

 private:
  // The right key of a left key with the same bytes; -1: there is none.
  int partner_of(int left_key) const {
    const Schema& left = build_is_left_ ? *build_.schema.schema : *probe_.schema.schema;
    const Schema& right = build_is_left_ ? *probe_.schema.schema : *build_.schema.schema;
    for (const auto& [left_column, right_column] : join_.spec.keys) {
      const bool same =
          is_plain_integer(left.fields[left_column].type, right.fields[right_column].type);
      if (left_column == left_key && same) return right_column;
    }
    return -1;
  }

  const plan::Join& join_;
  const Chain& probe_;
  const Chain& build_;
  bool build_is_left_;
};

// Whether the rows of a chain can be named by references into the table that they come from.
bool comes_from_one_table(const Chain& chain, const std::vector<int>& payload) {
  if (chain.stores.size() != 1 || chain.stores[0] == nullptr) return false;
  return std::ranges::all_of(payload,
                             [&](int column) { return chain.schema.places[column].origin == 0; });
}

// The build side's columns that are compared behind the probe: they are there as values.
std::vector<int> compared_columns(const Sides& sides, const JoinSpec& keys, bool verifies) {
  std::vector<int> columns = sides.residual_columns();
  for (const auto& [probe_key, build_key] : keys.keys) {
    if (verifies) columns.push_back(build_key);
  }
  return columns;
}

// Origins whose rows a build side refers to, since a reference takes less memory than their columns, and reading them
// later costs no more: rows of a small table, and strings. Their columns leave `payload`.
std::vector<int> referred_origins(const Chain& build,
                                  const std::vector<int>& compared,
                                  std::vector<int>& payload) {
  constexpr int64_t kRowsPerReferred = 2;
  std::vector<int> referred;
  for (size_t o = 0; o < build.stores.size(); ++o) {
    if (build.stores[o] == nullptr) continue;
    const auto belongs = [&](int column) {
      return build.schema.places[column].origin == static_cast<int>(o) &&
             std::ranges::find(compared, column) == compared.end();
    };
    int64_t bytes = 0;
    bool has_strings = false;
    for (const int column : payload) {
      if (!belongs(column)) continue;
      const DataType& type = build.schema.schema->fields[column].type;
      bytes += fixed_bytes(type);
      has_strings = has_strings || is_string(type.id) || is_binary(type.id);
    }
    const bool is_small = build.stores[o]->rows() <= build.rows_expected() / kRowsPerReferred;
    const bool saves = bytes > static_cast<int64_t>(sizeof(RowRef)) && is_small;
    if (!has_strings && !saves) continue;
    referred.push_back(static_cast<int>(o));
    std::erase_if(payload, belongs);
  }
  return referred;
}

// What a probe says of the rows behind it: the range of their key, their order, their number.
void add_probe_facts(Chain& probe,
                     const JoinSpec& keys,
                     const JoinTable& table,
                     const JoinRoles& kind) {
  if (table.keys().is_one_integer() && !kind.probe_unmatched && !kind.tracks_build()) {
    probe.ranges.emplace_back(probe.schema.places[keys.keys[0].first], table.range());
  }
  const bool keeps_order =
      !kind.tracks_build() && (!kind.pairs || (table.is_array() && !kind.probe_unmatched));
  probe.is_ordered = probe.is_ordered && keeps_order;
  if (!kind.tracks_build()) return;
  const double rows = static_cast<double>(table.rows());
  const double probed = static_cast<double>(std::max<int64_t>(1, probe.source->rows()));
  probe.pass_rate = kind.pairs ? std::max(probe.pass_rate, rows / probed) : rows / probed;
}

// Each key has one row of the build side.
void add_dependency(Chain& probe, const JoinSpec& keys, const JoinTable& table) {
  if (!table.is_unique() || !table.keys().is_packed()) return;
  Dependency& dependency = probe.dependencies.emplace_back();
  dependency.origin = static_cast<int>(probe.stores.size());
  for (const auto& [probe_key, build_key] : keys.keys) {
    dependency.keys.push_back(probe.schema.places[probe_key]);
  }
}

// Of a join that builds `build` and sends `probe` through it, in rows of a table that are looked up. Rows of a pipeline
// are copied into the build side, those of a table are referred to.
double cost_of_build(const Chain& build, const Chain& probe) {
  constexpr double kReferred = 3;
  constexpr double kCopied = 6;
  return static_cast<double>(build.rows_expected()) * (build.is_bare() ? kReferred : kCopied) +
         static_cast<double>(probe.rows_expected());
}

// Whether dictionaries may change from batch to batch, which a store of rows cannot have.
bool has_loose_dictionaries(const Chain& chain) {
  for (size_t c = 0; c < chain.schema.places.size(); ++c) {
    const ColumnPlace& place = chain.schema.places[c];
    if (place.origin < 0 || chain.stores[place.origin] != nullptr) continue;
    if (chain.source_column(static_cast<int>(c)).dictionary != nullptr) continue;
    if (chain.schema.schema->fields[c].type.id == TypeId::kDictionary) return true;
  }
  return false;
}

}  // namespace

Result<Chain> Lowering::table_join(const plan::Node& node, Chain left, Chain right) {
  const auto& join = std::get<plan::Join>(node.operation);
  const int64_t rows = std::max(left.rows_expected(), right.rows_expected());
  CD_ASSIGN(TablePtr left_table, materialise(std::move(left)));
  CD_ASSIGN(TablePtr right_table, materialise(std::move(right)));
  CD_ASSIGN(auto joined,
            plan_table_join(join, std::move(left_table), std::move(right_table), environment_));
  const std::string name =
      fmt::format("{} join of tables", operators::join_kind_name(join.spec.kind));
  const bool is_ordered = join.spec.strategy == operators::Strategy::kMerge;
  return operator_chain(std::move(joined), name, is_ordered, rows);
}

Result<Chain> Lowering::lower_arrived_join(const plan::Node& node) {
  const auto& sides = std::get<plan::ArrivedJoin>(node.operation).sides;
  const int64_t rows = std::max(sides->sides.rows[0], sides->sides.rows[1]);
  const bool is_ordered = sides->words != nullptr;  // of a merge join
  return operator_chain(operators::HashJoin::create(sides, environment_),
                        "join of what has arrived",
                        is_ordered,
                        rows);
}

Result<JoinKeys> Lowering::join_keys(const Chain& probe,
                                     const Chain& build,
                                     const operators::JoinSpec& keys) {
  CD_ASSIGN(
      operators::KeyPlan plan,
      operators::plan_keys(keys, *probe.schema.schema, *build.schema.schema, environment_.seed));
  std::vector<operators::KeyColumnRange> ranges(keys.keys.size());
  for (size_t k = 0; k < ranges.size() && !plan.packs_exactly; ++k) {
    const int64_t rows_max = std::max(probe.source->rows(), build.source->rows());
    CD_ASSIGN(ranges[k], range_of(run_, build, keys.keys[k].second, rows_max));
  }
  return JoinKeys(std::move(plan), ranges);
}

Status Lowering::run_build(Chain& build, BuildSink& sink, const JoinTable& table) {
  const auto start = RunRecord::Clock::now();
  CD_TRY(run(build, sink));
  CD_TRY(sink.finish(run_));
  note(build, "build: " + table.describe(), table.rows(), start);
  return {};
}

// Rows without a partner leave before the stages that there are, where that spares these more than it costs.
Status Lowering::add_key_filter(Chain& probe,
                                const JoinSpec& keys,
                                const std::shared_ptr<const JoinTable>& table) {
  if (!table->keys().is_packed()) return {};
  const std::vector<int> columns = table->keys().columns(operators::Side::kLeft);
  const double cost = kProbeCost * static_cast<double>(keys.keys.size());
  const auto make = [&](BlockSchema source) {
    return make_key_filter_stage(std::move(source), table, workers_);
  };
  CD_TRY(add_first(probe, columns, cost, make));
  return {};
}

Result<bool> Lowering::add_first(Chain& chain,
                                 const std::vector<int>& columns,
                                 double cost,
                                 const MakeTest& make) {
  const bool is_early = std::ranges::all_of(
      columns, [&](int column) { return chain.schema.places[column].origin == 0; });
  const bool can_move =
      std::ranges::all_of(chain.stages, [](const auto& stage) { return stage->can_be_sampled(); });
  if (chain.stages.empty() || !is_early || !can_move) return false;
  BlockSchema source = chain.schema;
  source.stores.resize(1);
  source.nullable.resize(1);
  source.computed.clear();
  const double rate_before = chain.pass_rate;
  std::vector<std::unique_ptr<Stage>> stages = std::move(chain.stages);
  chain.stages.clear();
  chain.stages.push_back(make(std::move(source)));
  chain.pass_rate = 1;
  CD_TRY(sample_chain(chain));
  const double cost_early = cost + chain.pass_rate * chain.cost;
  const bool pays = cost_early < chain.cost + rate_before * cost;
  if (pays) {
    chain.cost = cost_early;
  } else {
    chain.stages.clear();
  }
  std::ranges::move(stages, std::back_inserter(chain.stages));
  chain.pass_rate = rate_before;
  return pays;
}

// Where a residual condition compares values, and a key has many rows.
Status Lowering::order_runs(ProbeOptions& options, const std::vector<bool>& read_of_build) {
  const auto ranges = range_conditions(options.residual, read_of_build);
  if (!rules_.has(Rule::kOrderedRuns) || ranges.all.empty()) return {};
  if (!OrderedRuns::pay_for(*options.table)) return {};
  CD_ASSIGN(options.ordered, OrderedRuns::create(run_, *options.table, options.pairs, ranges));
  return {};
}

Result<Chain> Lowering::probe_join(const plan::Node& node,
                                   Chain probe,
                                   Chain build,
                                   bool build_is_left) {
  const auto& join = std::get<plan::Join>(node.operation);
  const Sides sides(join, probe, build, build_is_left);
  const JoinSpec keys = sides.key_spec();
  const JoinRoles kind = roles_of(join.spec.kind, build_is_left);
  CD_ASSIGN(JoinKeys words, join_keys(probe, build, keys));
  const bool verifies = words.needs_verification();
  const bool has_store = kind.pairs || kind.tracks_build();
  auto table = std::make_shared<JoinTable>(std::move(words), environment_.machine);
  BuildSink::Options build_options;
  build_options.input = build.schema;
  build_options.stores = build.stores;
  build_options.payload = sides.payload(verifies);
  build_options.rows_expected = build.rows_expected();
  build_options.workers = workers_;
  build_options.memory = environment_.memory;
  build_options.marks = kind.tracks_build();
  build_options.keeps_keyless = kind.build_unmatched || kind.null_aware;
  build_options.compared = compared_columns(sides, keys, verifies);
  if (comes_from_one_table(build, build_options.payload)) {
    build_options.table = build.stores[0];
  } else if (has_store && rules_.has(Rule::kBuildReferences)) {
    build_options.referred = referred_origins(build, build_options.compared, build_options.payload);
  }
  BuildSink sink(std::move(build_options), table);
  CD_TRY(run_build(build, sink, *table));
  ProbeOptions options;
  options.input = probe.schema;
  options.kind = kind;
  options.table = table;
  options.workers = workers_;
  options.memory = environment_.memory;
  options.cancel = run_.cancel;
  for (const auto& [probe_key, build_key] : keys.keys) {
    if (verifies) options.store_keys.push_back(sink.store_column(build_key));
  }
  BlockSchema output = sides.pairs(join.spec.output, node.schema, sink, &table->store());
  if (!has_store) {
    output.stores.pop_back();
    output.nullable.pop_back();
  }
  if (join.residual != nullptr) {
    const auto pairs = std::make_shared<Schema>(
        plan::residual_schema(join.spec, *node.input(0).schema, *node.input(1).schema));
    options.residual = join.residual;
    options.pairs = sides.pairs(join.spec.residual_columns, pairs, sink, &table->store());
    CD_TRY(order_runs(options, sides.read_of_build()));
  }
  add_probe_facts(probe, keys, *table, kind);
  // With a residual, a key of a left join has its partner in some rows and none in others.
  const bool follows_from_key = !kind.probe_unmatched || join.residual == nullptr;
  if (kind.pairs && !kind.build_unmatched && follows_from_key) add_dependency(probe, keys, *table);
  if (!kind.probe_unmatched && rules_.has(Rule::kKeyFilters)) {
    CD_TRY(add_key_filter(probe, keys, table));
  }
  probe.cost += probe.pass_rate * kProbeCost * static_cast<double>(keys.keys.size());
  if (has_store) {
    probe.stores.push_back(std::shared_ptr<const RowStore>(table, &table->store()));
  }
  probe.schema = std::move(output);
  CD_ASSIGN(auto stage, make_probe_stage(std::move(options)));
  probe.stages.push_back(std::move(stage));
  if (!sink.referred().empty()) follow_build(probe, build, sink);
  CD_TRY(sample_chain(probe));
  return probe;
}

// Makes origins of what the build side refers to, and carries over what is known of it.
void Lowering::follow_build(Chain& probe, const Chain& build, const BuildSink& sink) {
  const auto built = static_cast<int>(probe.stores.size()) - 1;
  const bool may_be_missing = probe.schema.nullable[built];
  std::vector<ReferringColumn> columns;
  for (size_t i = 0; i < sink.referred().size(); ++i) {
    const int origin = sink.referred()[i];
    columns.push_back({sink.referring_column(static_cast<int>(i)),
                       build.stores[origin],
                       may_be_missing || build.schema.nullable[origin]});
  }
  follow_rows(probe, built, std::move(columns), workers_);
  for (const Dependency& known : build.dependencies) {
    const auto row = sink.place_behind({known.origin, 0}, built);
    if (may_be_missing || !row.has_value() || row->origin == built) continue;
    Dependency carried{{}, row->origin};
    for (const ColumnPlace& key : known.keys) {
      const auto place = sink.place_behind(key, built);
      if (place.has_value()) carried.keys.push_back(*place);
    }
    if (carried.keys.size() == known.keys.size()) probe.dependencies.push_back(std::move(carried));
  }
}

Result<Chain> Lowering::build_side(Chain chain) {
  if (!has_loose_dictionaries(chain)) return chain;
  CD_ASSIGN(TablePtr table, materialise(std::move(chain)));
  CD_ASSIGN(auto store, operators::store_rows(*table, "build side"));
  return table_chain(std::move(table), std::move(store), "build side", workers_);
}

Result<Chain> Lowering::lower_join(const plan::Node& node) {
  CD_ASSIGN(Chain left, lower(node.input(0)));
  CD_ASSIGN(Chain right, lower(node.input(1)));
  const bool both_are_tables = left.is_bare() && right.is_bare();
  const int64_t rows = std::min(left.rows_expected(), right.rows_expected());
  if (!rules_.has(Rule::kPipelinedJoins) || needs_tables(node) ||
      (both_are_tables && joins_tables(node, rows, last_ == &node))) {
    return table_join(node, std::move(left), std::move(right));
  }
  const bool can_build_left =
      std::get<plan::Join>(node.operation).spec.kind !=
      JoinKind::kAntiNullAware;  // whose null keys are those of the right side
  const bool build_is_left = can_build_left && rules_.has(Rule::kBuildSide) &&
                             cost_of_build(left, right) < cost_of_build(right, left);
  Chain& build = build_is_left ? left : right;
  Chain& probe = build_is_left ? right : left;
  CD_ASSIGN(build, build_side(std::move(build)));
  return probe_join(node, std::move(probe), std::move(build), build_is_left);
}

}  // namespace crossdock::execution
