// Plans from what is known of the rows, and runs the two phases.
#include "operators/group_by/group_stream.hpp"

#include <algorithm>

#include "model/group_cost.hpp"
#include "model/rates.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kGroupsWithoutScatter = int64_t{1} << 12;

// A store that says of the rows to come what the planner asks of a table: which columns may hold nulls, and their
// dictionaries. It has no rows.
Result<std::shared_ptr<RowStore>> assumed_store(const StreamedRows& rows) {
  static constexpr uint8_t kNoBits[64] = {};
  static constexpr int64_t kNoOffsets[2] = {0, 0};
  auto store = std::make_shared<RowStore>(rows.schema);
  Batch batch{rows.schema, 0, {}, rows.owner};
  for (size_t c = 0; c < rows.schema->fields.size(); ++c) {
    ColumnView column;
    column.values = kNoBits;
    column.offsets = kNoOffsets;
    column.validity = rows.nullable[c] ? kNoBits : nullptr;
    column.dictionary = rows.dictionaries[c];
    batch.columns.push_back(column);
  }
  CD_TRY(store->add(std::move(batch)));
  store->freeze();
  return store;
}

bool streams(const AggregateSpec& aggregate) {
  return !is_of_values(aggregate.function) && aggregate.function != AggregateFunction::kQuantile;
}

// Whether an array for all dense keys in each worker costs less than a scatter before.
bool is_cheaper_whole(const model::GroupShape& shape, const model::Machine& machine) {
  const auto in_force = model::rates_in_force();
  const model::Machine seen = model::seen_by(*in_force, machine);
  return model::dense_group_cost(shape, seen, in_force->group).seconds() <=
         model::radix_group_cost(shape, seen, in_force->group).seconds();
}

std::vector<int> columns_read(const GroupSpec& spec) {
  std::vector<int> columns = spec.keys;
  for (const AggregateSpec& aggregate : spec.aggregates) {
    if (aggregate.column >= 0) columns.push_back(aggregate.column);
    if (aggregate.filter >= 0) columns.push_back(aggregate.filter);
    if (aggregate.by >= 0) columns.push_back(aggregate.by);
  }
  if (spec.row_filter >= 0) columns.push_back(spec.row_filter);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

}  // namespace

Result<std::unique_ptr<GroupStream>> GroupStream::create(GroupSpec spec,
                                                         StreamedRows rows,
                                                         RunEnvironment environment) {
  auto stream = std::unique_ptr<GroupStream>(new GroupStream);
  CD_ASSIGN(stream->schema_, group_schema(spec, *rows.schema));
  if (!std::all_of(spec.aggregates.begin(), spec.aggregates.end(), streams)) {
    return std::unique_ptr<GroupStream>();
  }
  CD_ASSIGN(stream->assumed_, assumed_store(rows));
  CD_ASSIGN(stream->aggregates_, plan_aggregates(spec, *stream->assumed_));
  CD_ASSIGN(stream->keys_,
            plan_group_keys(spec.keys, *stream->assumed_, rows.key_ranges, environment.seed));
  if (stream->aggregates_.needs_refs || stream->keys_.needs_refs()) {
    return std::unique_ptr<GroupStream>();
  }
  stream->columns_ = columns_read(spec);
  stream->spec_ = std::move(spec);
  stream->rows_ = std::move(rows);
  stream->environment_ = std::move(environment);
  stream->plan_course();
  return stream;
}

// Groups are as many as the keys can have values, or the rows.
void GroupStream::plan_course() {
  GroupSample sample;
  sample.groups = rows_.rows_expected;
  if (keys_.mode == GroupKeyMode::kExact && keys_.packed_bits < 62) {
    sample.groups = std::min(sample.groups, int64_t{1} << keys_.packed_bits);
  }
  sample.groups = std::max<int64_t>(1, sample.groups);
  const bool keyless = spec_.keys.empty();
  if (keys_.mode == GroupKeyMode::kExact && keys_.packed_bits <= dense_bits_max(sample.groups)) {
    make_dense(keys_);
  }
  sample.range_bits = keys_.packed_bits <= 64 ? std::max(1, keys_.packed_bits) : 0;
  sample.packs = true;
  GroupPlannerInput input{
      &spec_, assumed_.get(), &aggregates_, nullptr, &environment_, environment_.threads};
  model::GroupShape shape = group_shape(input, sample);
  shape.rows = rows_.rows_expected;
  course_.groups_expected = sample.groups;
  course_.table_groups_max = model::cached_groups(shape, environment_.machine);
  course_.partition_bits = model::group_partition_bits(shape, environment_.machine);
  BlockPlan blocks;
  blocks.keys = &keys_;
  blocks.aggregates = &aggregates_;
  const bool dense = keys_.mode == GroupKeyMode::kDense;
  const bool few = sample.groups <= std::max(kGroupsWithoutScatter, course_.table_groups_max) ||
                   (dense && is_cheaper_whole(shape, environment_.machine));
  const bool scatters = !keyless && !few && plan_carried_lanes(blocks).has_value();
  course_.strategy = !scatters ? GroupStrategy::kTable
                   : dense     ? GroupStrategy::kRadix
                               : GroupStrategy::kAdaptive;
  if (dense) course_.partition_bits = std::min(course_.partition_bits, keys_.packed_bits);
}

void GroupStream::open(const OperatorRun& run) {
  run_.emplace(run);
  run_->rows = rows_.rows_expected;
  run_->machine = environment_.machine;
  run_->keyless = spec_.keys.empty();
  run_->course = course_;
  run_->blocks = {&keys_,
                  &aggregates_,
                  assumed_.get(),
                  spec_.row_filter,
                  nullptr,
                  0,
                  environment_.memory.get()};
  taker_ = take_groups(*run_);
}

Status GroupStream::take(int worker, const Batch& rows) {
  return taker_->take(worker, {&rows, 0, static_cast<int32_t>(rows.rows), 0});
}

void GroupStream::emit_into(RowSink& sink) {
  run_->sink = &sink;
  const int64_t batch_rows = sink.batch_rows_wanted();
  run_->output = {schema_,
                  &keys_,
                  &aggregates_,
                  assumed_,
                  environment_.memory,
                  batch_rows > 0 ? batch_rows : kResultBatchRows};
}

Result<SampledGroups> GroupStream::sample(RowSink& sink) {
  emit_into(sink);
  return taker_->sample();
}

Status GroupStream::finish(RowSink& sink) {
  emit_into(sink);
  const Status status = taker_->finish();
  taker_.reset();
  return status;
}

std::string GroupStream::describe() const {
  return fmt::format("{}, {} keys of {} bits",
                     strategy_name(course_.strategy),
                     group_key_mode_name(keys_.mode),
                     keys_.packed_bits);
}

}  // namespace crossdock::operators
