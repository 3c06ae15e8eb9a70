// Group-bys of group-bys.
#include "operators/group_by/distinct_counts.hpp"

#include <algorithm>
#include <cstring>

#include "operators/group_by/column_builder.hpp"

namespace crossdock::operators {
namespace {

bool is_distinct(const AggregateSpec& aggregate) { return is_of_values(aggregate.function); }

bool is_zero_of_none(AggregateFunction function) {
  return function == AggregateFunction::kCountDistinct || function == AggregateFunction::kEntropy;
}

// The columns of a table, by number and under names that are their places: no two are alike.
TablePtr pick_columns(const Table& table, const std::vector<int>& columns) {
  auto schema = std::make_shared<Schema>();
  for (size_t i = 0; i < columns.size(); ++i) {
    Field field = table.schema->fields[columns[i]];
    field.name = std::to_string(i);
    schema->fields.push_back(std::move(field));
  }
  auto picked = std::make_shared<Table>();
  picked->schema = schema;
  picked->rows = table.rows;
  for (const Batch& batch : table.batches) {
    Batch narrow{schema, batch.rows, {}, batch.owner};
    for (const int column : columns) narrow.columns.push_back(batch.columns[column]);
    picked->batches.push_back(std::move(narrow));
  }
  return picked;
}

std::vector<int> first_columns(size_t count) {
  std::vector<int> columns;
  for (size_t i = 0; i < count; ++i) columns.push_back(static_cast<int>(i));
  return columns;
}

TablePtr table_of(SchemaPtr schema, std::vector<Batch> batches) {
  auto table = std::make_shared<Table>();
  table->schema = std::move(schema);
  for (const Batch& batch : batches) table->rows += batch.rows;
  table->batches = std::move(batches);
  return table;
}

// Gives batches the names of the result.
class RenamingSink : public RowSink {
 public:
  RenamingSink(RowSink& sink, SchemaPtr schema) : sink_(&sink), schema_(std::move(schema)) {}
  bool counts_only() const override { return sink_->counts_only(); }
  int64_t batch_rows_wanted() const override { return sink_->batch_rows_wanted(); }
  Status accept(int worker, Batch batch) override {
    batch.schema = schema_;
    return sink_->accept(worker, std::move(batch));
  }

 private:
  RowSink* sink_;
  SchemaPtr schema_;
};

// `rows` rows without a value, or with the value 0.
Result<ColumnView> zero_column(const DataType& type,
                               int64_t rows,
                               bool is_null,
                               BatchMemory& memory) {
  ColumnView column;
  column.length = rows;
  const int64_t bytes = (rows + 1) * 16;
  CD_ASSIGN(uint8_t * zeros, memory.get(bytes));
  std::memset(zeros, 0, static_cast<size_t>(bytes));
  column.values = zeros;
  if (layout(type) == Layout::kOffsets32 || layout(type) == Layout::kOffsets64) {
    column.offsets = zeros;
  }
  if (is_null) {
    column.validity = zeros;
    column.null_count = rows;
  }
  return column;
}

}  // namespace

// What the runs within one run share.
struct DistinctGroupBy::Stage {
  OperatorRun* whole;

  // Runs `operation` into `sink` and adds its phases, named after the stage, to the profile.
  Status run(const Operator& operation, const std::string& name, RowSink& sink) const {
    RunProfile outer_profile;
    const Status status = operation.run(sink, *whole->cancel, *whole->progress, outer_profile);
    for (PhaseTime& phase : outer_profile.phases) {
      phase.name = name + ": " + phase.name;
      whole->profile->phases.push_back(std::move(phase));
    }
    whole->profile->result_rows = outer_profile.result_rows;
    return status;
  }
  Result<TablePtr> collect(const Operator& operation, const std::string& name) const {
    CollectSink sink(operation.worker_count());
    CD_TRY(run(operation, name, sink));
    return table_of(operation.schema(), sink.take());
  }
};

Result<std::unique_ptr<Operator>> plan_group_by(GroupSpec spec,
                                                TablePtr table,
                                                RunEnvironment environment) {
  if (std::any_of(spec.aggregates.begin(), spec.aggregates.end(), is_distinct)) {
    CD_ASSIGN(auto distinct,
              DistinctGroupBy::create(std::move(spec), std::move(table), std::move(environment)));
    return std::unique_ptr<Operator>(std::move(distinct));
  }
  CD_ASSIGN(auto plain,
            TableGroupBy::create(std::move(spec), std::move(table), std::move(environment)));
  return std::unique_ptr<Operator>(std::move(plain));
}

Result<std::unique_ptr<DistinctGroupBy>> DistinctGroupBy::create(GroupSpec spec,
                                                                 TablePtr table,
                                                                 RunEnvironment environment) {
  auto group = std::unique_ptr<DistinctGroupBy>(new DistinctGroupBy);
  CD_ASSIGN(group->schema_, group_schema(spec, *table->schema));
  GroupSpec main = spec;
  main.aggregates.clear();
  for (size_t i = 0; i < spec.aggregates.size(); ++i) {
    const AggregateSpec& aggregate = spec.aggregates[i];
    if (!is_distinct(aggregate)) {
      group->others_.push_back(static_cast<int>(i));
      main.aggregates.push_back(aggregate);
      continue;
    }
    const DistinctColumn distinct{aggregate.function, aggregate.column, aggregate.filter};
    auto& all = group->distincts_;
    if (std::find(all.begin(), all.end(), distinct) == all.end()) all.push_back(distinct);
  }
  CD_ASSIGN(group->main_, TableGroupBy::create(std::move(main), table, environment));
  group->spec_ = std::move(spec);
  group->table_ = std::move(table);
  group->environment_ = std::move(environment);
  return group;
}

OperatorPlan DistinctGroupBy::describe() const {
  OperatorPlan plan = main_->describe();
  plan.facts.push_back({"distinct_counts", static_cast<int64_t>(distincts_.size())});
  return plan;
}

// Keys and the number of distinct values of one column, the one that most rows have, or their entropy.
Result<TablePtr> DistinctGroupBy::look_at_values(const DistinctColumn& distinct,
                                                 const Stage& stage) const {
  const size_t key_count = spec_.keys.size();
  std::vector<int> columns = spec_.keys;
  columns.push_back(distinct.column);
  GroupSpec pairs;
  pairs.keys = first_columns(key_count + 1);
  if (distinct.filter >= 0) {
    pairs.row_filter = static_cast<int>(columns.size());
    columns.push_back(distinct.filter);
  }
  const bool is_mode = distinct.function == AggregateFunction::kMode;
  const bool is_entropy = distinct.function == AggregateFunction::kEntropy;
  if (is_mode || is_entropy) {
    pairs.aggregates.resize(1);
    pairs.aggregates[0].function =
        is_mode ? AggregateFunction::kFrequency : AggregateFunction::kCount;
    pairs.aggregates[0].column = static_cast<int>(key_count);
    pairs.aggregates[0].name = "rows";
  }
  CD_ASSIGN(auto inner, TableGroupBy::create(pairs, pick_columns(*table_, columns), environment_));
  CD_ASSIGN(const TablePtr values, stage.collect(*inner, "distinct values"));
  GroupSpec counts;
  counts.keys = first_columns(key_count);
  counts.aggregates.resize(1);
  counts.aggregates[0].column = static_cast<int>(key_count);
  counts.aggregates[0].name = "value";
  if (is_mode) {
    counts.aggregates[0].function = AggregateFunction::kArgMax;
    counts.aggregates[0].by = static_cast<int>(key_count) + 1;
  }
  if (is_entropy) {
    counts.aggregates[0].function = AggregateFunction::kEntropyOfCounts;
    counts.aggregates[0].column = static_cast<int>(key_count) + 1;
  }
  CD_ASSIGN(auto outer, TableGroupBy::create(counts, values, environment_));
  return stage.collect(*outer, "count values");
}

// Rows of all tables, side by side: keys, then each aggregate. Of an aggregate that a table does not
// have, distinct counts and entropies are 0, which changes no maximum, and others are null.
Result<TablePtr> DistinctGroupBy::unite(const Table& main,
                                        const std::vector<TablePtr>& counts) const {
  const size_t key_count = spec_.keys.size();
  auto schema = std::make_shared<Schema>(*schema_);
  for (size_t i = 0; i < schema->fields.size(); ++i) {
    schema->fields[i].name = std::to_string(i);
    schema->fields[i].nullable = true;
  }
  auto united = std::make_shared<Table>();
  united->schema = schema;
  std::vector<const Table*> tables = {&main};
  for (const TablePtr& table : counts) tables.push_back(table.get());
  for (size_t t = 0; t < tables.size(); ++t) {
    for (const Batch& batch : tables[t]->batches) {
      if (batch.rows == 0) continue;
      auto memory = std::make_shared<BatchMemory>(environment_.memory);
      memory->keep(batch.owner);
      Batch wide{schema, batch.rows, {}, nullptr};
      for (size_t k = 0; k < key_count; ++k) wide.columns.push_back(batch.columns[k]);
      size_t next_other = key_count;
      for (size_t a = 0; a < spec_.aggregates.size(); ++a) {
        const AggregateSpec& aggregate = spec_.aggregates[a];
        const DataType& type = schema_->fields[key_count + a].type;
        const DistinctColumn distinct{aggregate.function, aggregate.column, aggregate.filter};
        const bool has = is_distinct(aggregate) ? t > 0 && distincts_[t - 1] == distinct : t == 0;
        if (has) {
          wide.columns.push_back(batch.columns[is_distinct(aggregate) ? key_count : next_other]);
        } else {
          const bool is_null = !is_zero_of_none(aggregate.function);
          CD_ASSIGN(ColumnView zeros, zero_column(type, batch.rows, is_null, *memory));
          if (type.id == TypeId::kDictionary) {  // that of the rows; one group may be of none
            const auto place = std::find(distincts_.begin(), distincts_.end(), distinct);
            const bool is_of_values = is_distinct(aggregate);
            const Table& theirs = is_of_values ? *counts[place - distincts_.begin()] : main;
            const bool has_rows = !theirs.batches.empty();
            const Batch& known = has_rows ? theirs.batches.front() : table_->batches.front();
            const size_t column = is_of_values ? key_count : next_other;
            zeros.dictionary = known.columns[has_rows ? column : aggregate.column].dictionary;
            memory->keep(known.owner);
          }
          wide.columns.push_back(zeros);
        }
        next_other += is_distinct(aggregate) ? 0 : 1;
      }
      wide.owner = std::move(memory);
      united->rows += batch.rows;
      united->batches.push_back(std::move(wide));
    }
  }
  return TablePtr(std::move(united));
}

GroupSpec DistinctGroupBy::final_spec() const {
  const size_t key_count = spec_.keys.size();
  GroupSpec spec;
  spec.keys = first_columns(key_count);
  spec.batch_rows = spec_.batch_rows;
  for (size_t a = 0; a < spec_.aggregates.size(); ++a) {
    AggregateSpec aggregate;
    const bool is_number = is_zero_of_none(spec_.aggregates[a].function);
    aggregate.function = is_number ? AggregateFunction::kMax : AggregateFunction::kAny;
    aggregate.column = static_cast<int>(key_count + a);
    aggregate.name = fmt::format("a{}", a);
    spec.aggregates.push_back(std::move(aggregate));
  }
  return spec;
}

Status DistinctGroupBy::run_phases(OperatorRun& run) const {
  const Stage stage{&run};
  std::vector<TablePtr> counts;
  for (const DistinctColumn& distinct : distincts_) {
    CD_ASSIGN(TablePtr table, look_at_values(distinct, stage));
    counts.push_back(std::move(table));
  }
  CD_ASSIGN(const TablePtr main, stage.collect(*main_, "other aggregates"));
  CD_ASSIGN(TablePtr united, unite(*main, counts));
  // The sink knows no more workers than those of the first input.
  RunEnvironment environment = environment_;
  environment.threads = worker_count();
  CD_ASSIGN(auto last, TableGroupBy::create(final_spec(), std::move(united), environment));
  RenamingSink renaming(*run.sink, schema_);
  return stage.run(*last, "bring together", renaming);
}

}  // namespace crossdock::operators
