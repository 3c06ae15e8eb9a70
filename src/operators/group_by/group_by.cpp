// From a request to a plan, and from a plan to a run.
#include "operators/group_by/group_by.hpp"

#include <algorithm>
#include <optional>

#include "base/check.hpp"
#include "operators/group_by/word_scan.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kBatchRowsMin = 1 << 10;

Result<std::optional<RowComparer>> make_comparer(const GroupKeyPlan& keys, const RowStore& store) {
  if (keys.mode != GroupKeyMode::kHashed) return std::optional<RowComparer>();
  std::vector<KeyColumnPair> pairs;
  for (const GroupKeyPart& part : keys.parts) {
    const ChunkedColumn& column = store.column(part.column);
    CD_ASSIGN(const KeyKind kind, common_key_kind(column.field->type, column.field->type));
    pairs.push_back({&column, &column, kind});
  }
  CD_ASSIGN(RowComparer comparer, RowComparer::create(std::move(pairs), true));
  return std::optional<RowComparer>(std::move(comparer));
}

bool is_instant(const DataType& type) {
  return type.units_per_second > 0 || type.id == TypeId::kDate32 || type.id == TypeId::kDate64;
}

}  // namespace

Result<std::unique_ptr<TableGroupBy>> TableGroupBy::create(GroupSpec spec,
                                                           TablePtr table,
                                                           RunEnvironment environment) {
  if (spec.batch_rows != 0 && spec.batch_rows < kBatchRowsMin) {
    return make_error(ErrorCode::kInvalidArgument,
                      "batch_rows is {}, but must be at least {}",
                      spec.batch_rows,
                      kBatchRowsMin);
  }
  auto group = std::unique_ptr<TableGroupBy>(new TableGroupBy);
  group->spec_ = std::move(spec);
  group->environment_ = std::move(environment);
  CD_ASSIGN(group->store_, store_rows(*table, "table"));
  CD_ASSIGN(group->schema_, group_schema(group->spec_, *table->schema));
  CD_ASSIGN(group->aggregates_, plan_aggregates(group->spec_, *group->store_));
  group->morsels_ = cut_morsels(*group->store_, group->environment_.threads);
  const GroupPlannerInput input{&group->spec_,
                                group->store_.get(),
                                &group->aggregates_,
                                &group->morsels_,
                                &group->environment_,
                                group->worker_count()};
  CD_ASSIGN(group->sample_, sample_keys(input));
  CD_ASSIGN(group->choice_, choose_group_strategy(input, group->sample_));
  return group;
}

int TableGroupBy::worker_count() const { return workers_for(store_->rows(), environment_.threads); }

OperatorPlan TableGroupBy::describe() const {
  OperatorPlan plan;
  plan.name = "group_by";
  plan.facts = {{"strategy", strategy_name(choice_.strategy)},
                {"strategy_reason", choice_.reason},
                {"groups_expected", sample_.groups},
                {"threads", int64_t{worker_count()}}};
  if (spec_.program != nullptr) plan.facts.push_back({"fused", true});
  plan.phases = choice_.cost.phases;
  for (const auto& considered : choice_.considered) {
    plan.considered.push_back(
        {{"strategy", considered.strategy}, {"predicted_s", considered.seconds}});
  }
  return plan;
}

int64_t TableGroupBy::batch_rows(const RowSink& sink) const {
  if (spec_.batch_rows > 0) return spec_.batch_rows;
  return sink.batch_rows_wanted() > 0 ? sink.batch_rows_wanted() : kResultBatchRows;
}

// The exact ranges of columns, by one pass over their rows.
Result<std::vector<KeyColumnRange>> TableGroupBy::scan_columns(
    GroupRun& run, const char* phase, const std::vector<int>& columns) const {
  std::vector<std::vector<KeyColumnRange>> ranges_of_worker(run.workers());
  for (auto& of_worker : ranges_of_worker) of_worker.resize(columns.size());
  CD_TRY(run.for_morsels(phase, morsels_, [&](int worker, const Morsel& morsel) {
    for (size_t c = 0; c < columns.size(); ++c) {
      KeyColumnRange range = ranges_of_worker[worker][c];
      KeyRangeScanner scanner(store_->schema()->fields[columns[c]].type, &range);
      for (int32_t at = 0; at < morsel.rows; at += kGroupRows) {
        scanner.scan(morsel.batch->columns[columns[c]],
                     morsel.begin + at,
                     std::min(kGroupRows, morsel.rows - at));
      }
      ranges_of_worker[worker][c] = range;
    }
    return Status();
  }));
  std::vector<KeyColumnRange> ranges(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    for (const auto& of_worker : ranges_of_worker) merge_ranges(of_worker[c], ranges[c]);
    ranges[c].known = true;
  }
  return ranges;
}

// The range of every key column; only columns whose range is not known are read.
Result<std::vector<KeyColumnRange>> TableGroupBy::key_ranges(GroupRun& run) const {
  std::vector<KeyColumnRange> ranges(spec_.keys.size());
  std::vector<size_t> unknown;
  std::vector<int> columns;
  for (size_t k = 0; k < spec_.keys.size(); ++k) {
    const auto range = range_without_scan(store_->column(spec_.keys[k]));
    if (range.has_value()) {
      ranges[k] = *range;
    } else {
      unknown.push_back(k);
      columns.push_back(spec_.keys[k]);
    }
  }
  if (unknown.empty()) return ranges;
  CD_ASSIGN(const auto scanned, scan_columns(run, "scan key ranges", columns));
  for (size_t i = 0; i < unknown.size(); ++i) ranges[unknown[i]] = scanned[i];
  return ranges;
}

Result<GroupKeyPlan> TableGroupBy::plan_keys(GroupRun& run) const {
  std::vector<KeyColumnRange> ranges(spec_.keys.size());
  if (!spec_.keys.empty() && (choice_.try_dense || !sample_.packs)) {
    CD_ASSIGN(ranges, key_ranges(run));
  }
  CD_ASSIGN(GroupKeyPlan keys, plan_group_keys(spec_.keys, *store_, ranges, environment_.seed));
  const bool narrow =
      keys.mode == GroupKeyMode::kExact && keys.packed_bits <= dense_bits_max(sample_.groups);
  if (choice_.try_dense && narrow) make_dense(keys);
  return keys;
}

// Quantiles of instants are taken as distances from the smallest.
Status TableGroupBy::find_quantile_bases(GroupRun& run, AggregatePlan& plan) const {
  for (PlannedAccumulator& planned : plan.accumulators) {
    if (planned.spec.kind != AccumulatorKind::kQuantileSketch) continue;
    const int column = plan.lanes[plan.inputs[planned.spec.input].lane].column;
    if (!is_instant(store_->schema()->fields[column].type)) continue;
    CD_ASSIGN(const auto ranges, scan_columns(run, "scan instants", {column}));
    planned.spec.base = static_cast<int64_t>(ranges[0].min);
    planned.spec.is_instant = true;
  }
  return {};
}

GroupCourse TableGroupBy::plan_course(const GroupKeyPlan& keys) const {
  GroupCourse course;
  course.strategy = choice_.strategy;
  if (course.strategy == GroupStrategy::kDense || course.strategy == GroupStrategy::kSorted) {
    course.strategy = GroupStrategy::kTable;
  }
  course.groups_expected = sample_.groups;
  course.table_groups_max = model::cached_groups(choice_.shape, environment_.machine);
  course.partition_bits = model::group_partition_bits(choice_.shape, environment_.machine);
  if (keys.mode == GroupKeyMode::kDense) {
    course.partition_bits = std::min(course.partition_bits, keys.packed_bits);
  }
  return course;
}

Status TableGroupBy::run_groups(GroupRun& run) const {
  AggregatePlan aggregates = aggregates_;
  CD_TRY(find_quantile_bases(run, aggregates));
  CD_ASSIGN(const GroupKeyPlan keys, plan_keys(run));
  CD_ASSIGN(const std::optional<RowComparer> comparer, make_comparer(keys, *store_));
  run.comparer = comparer.has_value() ? &*comparer : nullptr;
  run.blocks = {&keys,
                &aggregates,
                store_.get(),
                spec_.row_filter,
                spec_.program,
                spec_.first_computed,
                environment_.memory.get()};
  run.output = {schema_, &keys, &aggregates, store_, environment_.memory, batch_rows(*run.sink)};
  run.course = plan_course(keys);
  run.profile->facts.push_back({"key_mode", group_key_mode_name(keys.mode)});
  if (choice_.try_sorted) {
    CD_ASSIGN(const bool in_order, keys_are_in_order(run));
    if (in_order) {
      run.profile->facts.push_back({"strategy_ran", "sorted"});
      return run_sorted(run);
    }
    run.profile->facts.push_back(
        {"strategy_change", "the input is not in order of the keys throughout"});
  }
  const bool is_dense = keys.mode == GroupKeyMode::kDense;
  const bool fell = choice_.strategy == GroupStrategy::kDense && !is_dense;
  if (fell) {
    run.profile->facts.push_back(
        {"strategy_change", "the key range is wider than the sample showed"});
    if (plan_carried_lanes(run.blocks).has_value()) run.course.strategy = GroupStrategy::kAdaptive;
  }
  const bool direct = choice_.strategy == GroupStrategy::kDense && is_dense;
  run.profile->facts.push_back(
      {"strategy_ran", direct ? "dense" : strategy_name(run.course.strategy)});
  return run_two_phases(run);
}

Status TableGroupBy::run_phases(OperatorRun& shared) const {
  GroupRun run(shared);
  run.morsels = &morsels_;
  run.rows = store_->rows();
  run.machine = environment_.machine;
  run.keyless = spec_.keys.empty();
  return run_groups(run);
}

}  // namespace crossdock::operators
