// Group-bys: over a table in memory as its own operator, over a pipeline as the rows come.
#include <algorithm>

#include "execution/column_gather.hpp"
#include "execution/column_ranges.hpp"
#include "execution/group_keys.hpp"
#include "execution/lowering.hpp"
#include "execution/table_layers.hpp"
#include "expressions/computed_columns.hpp"
#include "operators/group_by/distinct_counts.hpp"
#include "operators/group_by/group_stream.hpp"
#include "operators/run/morsel.hpp"

namespace crossdock::execution {
namespace {

using expressions::Expression;
using expressions::ExpressionOp;
using expressions::ExpressionPtr;
using operators::GroupSpec;

static_assert(kBlockRows <= operators::kGroupRows);

// Where a filter keeps less of the rows, they are put together before anything is computed with them.
constexpr double kFusedPassRate = 0.25;

// The spec over other columns: column c becomes places[c].
GroupSpec moved(GroupSpec spec, const std::vector<int>& places) {
  for (int& key : spec.keys) key = places[key];
  for (auto& aggregate : spec.aggregates) {
    if (aggregate.column >= 0) aggregate.column = places[aggregate.column];
    if (aggregate.filter >= 0) aggregate.filter = places[aggregate.filter];
  }
  if (spec.row_filter >= 0) spec.row_filter = places[spec.row_filter];
  return spec;
}

// Whether all that is asked for is how many different values one column has.
bool counts_distinct_values(const GroupSpec& spec) {
  if (spec.aggregates.empty() || spec.row_filter >= 0) return false;
  const int column = spec.aggregates[0].column;
  if (std::find(spec.keys.begin(), spec.keys.end(), column) != spec.keys.end()) return false;
  return std::all_of(
      spec.aggregates.begin(), spec.aggregates.end(), [&](const operators::AggregateSpec& one) {
        return one.function == operators::AggregateFunction::kCountDistinct &&
               one.column == column && one.filter < 0;
      });
}

class GroupSink final : public BlockSink {
 public:
  GroupSink(const BlockSchema& schema, operators::GroupStream& groups, int workers)
      : groups_(groups) {
    for (int i = 0; i < workers; ++i) {
      columns_.push_back(std::make_unique<FlatColumns>(schema, groups.columns()));
    }
  }
  Status push(int worker, const RowBlock& block) override {
    return groups_.take(worker, columns_[worker]->load(block));
  }
  Status flush(int) override { return {}; }

 private:
  operators::GroupStream& groups_;
  std::vector<std::unique_ptr<FlatColumns>> columns_;
};

// What the chain's columns are known to hold; false if a column has dictionaries that come batch by batch.
bool describe_rows(const Chain& chain, operators::StreamedRows& rows) {
  rows.schema = chain.schema.schema;
  rows.rows_expected = chain.rows_expected();
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>(chain.stores.begin(),
                                                                           chain.stores.end());
  for (size_t c = 0; c < chain.schema.places.size(); ++c) {
    const ColumnPlace& place = chain.schema.places[c];
    const Field& field = rows.schema->fields[c];
    const RowStore* store = place.origin < 0 ? nullptr : chain.schema.stores[place.origin];
    const SourceColumn known = chain.source_column(static_cast<int>(c));
    const bool is_seen = store != nullptr || !known.nullable;
    bool nullable =
        place.origin < 0 ? field.nullable : !is_seen || chain.schema.nullable[place.origin];
    const ColumnView* dictionary = known.dictionary;
    if (store != nullptr) {
      const ChunkedColumn& column = store->column(place.column);
      dictionary = column.dictionary;
      nullable = nullable || column.any_nulls;
    } else if (field.type.id == TypeId::kDictionary && dictionary == nullptr) {
      return false;
    }
    rows.nullable.push_back(nullable);
    rows.dictionaries.push_back(dictionary);
    if (known.dictionary != nullptr) owners->push_back(known.owner);
  }
  rows.owner = std::move(owners);
  return true;
}

}  // namespace

Result<Chain> Lowering::table_group(GroupSpec spec, TablePtr table, int64_t rows_expected) {
  CD_ASSIGN(auto groups, operators::plan_group_by(std::move(spec), std::move(table), environment_));
  return operator_chain(std::move(groups), "group-by of a table", false, rows_expected);
}

// Filters and computed columns are evaluated inside the group-by, block by block.
Result<Chain> Lowering::fused_group(const plan::Node& node) {
  const auto& group = std::get<plan::Group>(node.operation);
  Chain none;
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
  GroupSpec spec = moved(group.spec, places);
  // An aggregate may have the name that a key has in the table.
  for (operators::AggregateSpec& aggregate : spec.aggregates)
    aggregate.name = "\x01" + aggregate.name;
  if (layers.conditions.empty() && outputs.empty()) {
    CD_ASSIGN(Chain chain, table_group(std::move(spec), table, table->rows));
    chain.schema.schema = node.schema;
    return chain;
  }
  CD_ASSIGN(computed.program,
            expressions::Program::create(std::move(layers.conditions), std::move(outputs)));
  if (!operators::reads_computed_as_numbers(spec, first_computed, *computed.program)) return none;
  spec.program = computed.program;
  spec.first_computed = first_computed;
  CD_ASSIGN(Chain chain,
            table_group(std::move(spec), expressions::with_places(*table, computed), table->rows));
  chain.schema.schema = node.schema;
  return chain;
}

Result<std::unique_ptr<operators::GroupStream>> Lowering::plan_stream(
    const Chain& chain, const GroupSpec& spec, std::vector<operators::KeyColumnRange> ranges) {
  constexpr int64_t kCheapRows = int64_t{1} << 20;
  operators::StreamedRows rows;
  if (!describe_rows(chain, rows)) return std::unique_ptr<operators::GroupStream>();
  const int64_t rows_max = std::max({kCheapRows, chain.rows_expected(), chain.source->rows() / 8});
  ranges.resize(spec.keys.size());
  for (size_t k = 0; k < ranges.size(); ++k) {
    if (ranges[k].known) continue;
    CD_ASSIGN(ranges[k], range_of(run_, chain, spec.keys[k], rows_max));
  }
  rows.key_ranges = std::move(ranges);
  return operators::GroupStream::create(spec, std::move(rows), environment_);
}

// Distinct values are groups by the keys and the value, and counts are those of groups.
Result<Chain> Lowering::distinct_counts(const GroupSpec& asked, SchemaPtr schema, Chain chain) {
  GroupSpec values;
  values.keys = asked.keys;
  values.keys.push_back(asked.aggregates[0].column);
  CD_ASSIGN(SchemaPtr value_schema, operators::group_schema(values, *chain.schema.schema));
  CD_ASSIGN(Chain groups, stream_groups(values, std::move(value_schema), std::move(chain)));
  GroupSpec counts = asked;
  const auto key_count = static_cast<int>(asked.keys.size());
  for (int k = 0; k < key_count; ++k) counts.keys[k] = k;
  for (operators::AggregateSpec& aggregate : counts.aggregates) {
    aggregate.function = operators::AggregateFunction::kCount;
    aggregate.column = key_count;
  }
  return stream_groups(counts, std::move(schema), std::move(groups));
}

Result<Chain> Lowering::stream_groups(const GroupSpec& asked, SchemaPtr schema, Chain chain) {
  if (counts_distinct_values(asked)) {
    return distinct_counts(asked, std::move(schema), std::move(chain));
  }
  const BlockSchema before = chain.schema;
  std::optional<ReducedGroup> reduced;
  if (rules_.has(Rule::kKeyReduction)) {
    CD_ASSIGN(reduced, reduce_keys(chain, asked, workers_, environment_.seed, environment_.memory));
  }
  std::unique_ptr<operators::GroupStream> planned;
  if (rules_.has(Rule::kStreamedGroups)) {
    CD_ASSIGN(planned,
              reduced.has_value() ? plan_stream(chain, reduced->spec, reduced->ranges)
                                  : plan_stream(chain, asked, {}));
  }
  if (planned == nullptr) {
    if (reduced.has_value()) {
      chain.stages.pop_back();
      chain.schema = before;
    }
    CD_ASSIGN(TablePtr table, materialise(std::move(chain)));
    const int64_t count = table->rows;
    return table_group(asked, std::move(table), count);
  }
  const auto start = RunRecord::Clock::now();
  std::shared_ptr<operators::GroupStream> groups = std::move(planned);
  groups->open(run_);
  GroupSink sink(chain.schema, *groups, workers_);
  CD_TRY(run(chain, sink));
  note(chain, "group: " + groups->describe(), -1, start);
  const int64_t expected = chain.rows_expected();
  const Owners stores = chain.stores;
  Chain emitted = emitted_chain(
      [groups, chain = std::make_shared<Chain>(std::move(chain))](
          operators::OperatorRun&, operators::RowSink& out) { return groups->finish(out); },
      groups->schema(),
      "groups",
      expected);
  if (reduced.has_value()) {
    restore_keys(emitted, *reduced, stores, std::move(schema), workers_);
  } else {
    emitted.schema.schema = std::move(schema);
  }
  return emitted;
}

Result<Chain> Lowering::lower_group(const plan::Node& node) {
  const plan::Node& input = node.input();
  const bool is_scan = std::holds_alternative<plan::Scan>(input.operation);
  if (is_scan) return fused_group(node);
  CD_ASSIGN(Chain chain, lower(input));
  const bool is_table =
      rules_.has(Rule::kFusedGroups) && chain.table != nullptr && chain.pass_rate >= kFusedPassRate;
  if (is_table) {
    CD_ASSIGN(Chain fused, fused_group(node));
    if (fused.source != nullptr) return fused;
  }
  return stream_groups(std::get<plan::Group>(node.operation).spec, node.schema, std::move(chain));
}

}  // namespace crossdock::execution
