// Group-bys: over a table in memory as its own operator, over a pipeline as the rows come.
#include <algorithm>

#include "execution/column_gather.hpp"
#include "execution/column_ranges.hpp"
#include "execution/counted_rows.hpp"
#include "execution/file_source.hpp"
#include "execution/footer_aggregates.hpp"
#include "execution/group_keys.hpp"
#include "execution/lowering.hpp"
#include "execution/table_operators.hpp"
#include "operators/group_by/distinct_counts.hpp"
#include "operators/group_by/group_stream.hpp"
#include "operators/run/morsel.hpp"
#include "table/dictionary.hpp"

namespace crossdock::execution {
namespace {

using operators::GroupSpec;

static_assert(kBlockRows <= operators::kGroupRows);

constexpr const char* kTableGroup = "group-by of a table";

// Where a filter keeps less of the rows, they are put together before anything is computed with them.
constexpr double kFusedPassRate = 0.25;

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

bool ignores_repeats(operators::AggregateFunction function) {
  using enum operators::AggregateFunction;
  return function == kMin || function == kMax || function == kCountDistinct ||
         function == kApproxDistinct;
}

// The column of origin 0 that is all that groups are made of, and each of whose values counts once; -1: there is none.
int distinct_column(const GroupSpec& spec, const Chain& chain) {
  std::optional<int> column;
  if (spec.keys.size() == 1) column = spec.keys[0];
  if (spec.keys.size() > 1 || spec.row_filter >= 0) return -1;
  for (const operators::AggregateSpec& aggregate : spec.aggregates) {
    if (!ignores_repeats(aggregate.function) || aggregate.filter >= 0) return -1;
    if (column.value_or(aggregate.column) != aggregate.column) return -1;
    column = aggregate.column;
  }
  if (!column.has_value()) return -1;
  const ColumnPlace& place = chain.schema.places[static_cast<size_t>(*column)];
  return place.origin == 0 ? place.column : -1;
}

class GroupSink final : public BlockSink {
 public:
  GroupSink(const BlockSchema& schema, operators::GroupStream& groups, int workers)
      : groups_(groups) {
    for (int i = 0; i < workers; ++i) {
      columns_.push_back(
          std::make_unique<FlatColumns>(schema, groups.columns(), Decimals::kAsStored));
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
  return operator_chain(std::move(groups), kTableGroup, false, rows_expected);
}

// A chain without a source where the rows must come another way.
Result<Chain> Lowering::fused_group(const plan::Node& node, int64_t rows_expected) {
  CD_ASSIGN(auto groups, plan_table_group(node, environment_));
  if (groups == nullptr) return Chain();
  Chain chain = operator_chain(std::move(groups), kTableGroup, false, rows_expected);
  chain.schema.schema = node.schema;
  return chain;
}

// One row with the number of rows in each column.
Result<Chain> Lowering::counted_group(const plan::Node& node) {
  CD_ASSIGN(Chain chain, lower_limited(node.input()));
  const auto start = RunRecord::Clock::now();
  CD_ASSIGN(const int64_t rows, count_rows(run_, chain, record_.meters()));
  note(chain, "count", rows, start);
  const auto value = std::make_shared<const int64_t>(rows);
  Batch row{node.schema, 1, {}, value};
  ColumnView column;
  column.length = 1;
  column.values = reinterpret_cast<const uint8_t*>(value.get());
  row.columns.assign(node.schema->fields.size(), column);
  auto table = std::make_shared<Table>();
  table->schema = node.schema;
  table->rows = 1;
  table->batches.push_back(std::move(row));
  CD_ASSIGN(auto store, operators::store_rows(*table, "count"));
  return table_chain(std::move(table), std::move(store), "count", workers_);
}

// The row groups that statistics do not answer are read.
Result<Chain> Lowering::footer_group(const plan::Node& node, FooterAggregates known) {
  const auto& scan = std::get<plan::FileScan>(known.scan->operation);
  std::string name = fmt::format(
      "footers of {} ({} of {} row groups)", scan.name, known.answered, known.row_groups);
  TablePtr table = std::move(known.row);
  const bool is_whole = known.answered == known.row_groups;
  if (!is_whole) {
    CD_ASSIGN(
        Chain files,
        file_chain(
            {scan.table, scan.name, workers_, environment_.memory, std::move(known.is_read)}));
    files.source_node = known.scan;
    CD_ASSIGN(Chain groups, stream_groups(known.of_files, node.schema, std::move(files)));
    CD_ASSIGN(const TablePtr read, materialise(std::move(groups)));
    auto both = std::make_shared<Table>(*read);
    both->rows += table->rows;
    both->batches.push_back(table->batches[0]);
    for (int c = 0; c < node.schema->column_count(); ++c) {
      if (node.schema->fields[c].type.id != TypeId::kDictionary) continue;
      CD_TRY(unify_dictionaries(both->batches, c));
    }
    table = std::move(both);
  }
  CD_ASSIGN(auto store, operators::store_rows(*table, "footers"));
  Chain chain = table_chain(std::move(table), std::move(store), std::move(name), workers_);
  if (is_whole) return chain;
  return stream_groups(merged_aggregates(known.of_files), node.schema, std::move(chain));
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
  chain.distinct_column = distinct_column(asked, chain);
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
  CD_TRY(groups->end());
  note(chain, "group: " + groups->describe(), -1, start);
  operators::CountSink nowhere;
  CD_ASSIGN(const operators::SampledGroups known, groups->sample(nowhere));
  const Owners stores = chain.stores;
  EmittedRows rows;
  rows.emit = [groups, chain = std::make_shared<Chain>(std::move(chain))](
                  operators::OperatorRun&, operators::RowSink& out) { return groups->finish(out); };
  rows.sample = [groups](operators::RowSink& out) -> Result<int64_t> {
    CD_ASSIGN(const operators::SampledGroups some, groups->sample(out));
    return some.groups;
  };
  rows.expected = known.all;
  Chain emitted = emitted_chain(std::move(rows), groups->schema(), "groups");
  if (reduced.has_value()) {
    restore_keys(emitted, *reduced, stores, std::move(schema), workers_);
  } else {
    emitted.schema.schema = std::move(schema);
  }
  return emitted;
}

Result<Chain> Lowering::lower_group(const plan::Node& node) {
  const GroupSpec& spec = std::get<plan::Group>(node.operation).spec;
  if (rules_.has(Rule::kFooterAggregates)) {
    auto known = footer_aggregates(node);
    if (known.has_value()) return footer_group(node, std::move(*known));
  }
  if (counts_rows(spec)) return counted_group(node);
  CD_ASSIGN(Chain chain, lower(node.input()));
  const bool is_table =
      chain.table != nullptr &&
      (chain.is_bare() || (rules_.has(Rule::kFusedGroups) && chain.pass_rate >= kFusedPassRate));
  if (is_table) {
    CD_ASSIGN(Chain fused, fused_group(node, chain.rows_expected()));
    if (fused.source != nullptr) return fused;
  }
  return stream_groups(spec, node.schema, std::move(chain));
}

}  // namespace crossdock::execution
