// From a request to a plan, and from a plan to a run.
#include "operators/hash_join/hash_join.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "operators/hash_join/rank_sides.hpp"
#include "operators/merge_join/merge_strategy.hpp"

namespace crossdock::operators {
namespace {

Status check_spec(const JoinSpec& spec) {
  if (spec.kind == JoinKind::kAntiNullAware) {
    if (spec.keys.size() != 1) {
      return make_error(ErrorCode::kInvalidArgument,
                        "a null-aware anti join takes one key pair, got {}\n"
                        "  try      how='anti', or filter nulls first",
                        spec.keys.size());
    }
    if (spec.residual || spec.null_equals_null) {
      return make_error(ErrorCode::kInvalidArgument,
                        "a null-aware anti join cannot be combined with {}\n  try      how='anti'",
                        spec.residual ? "residual=" : "null_equals_null=True");
    }
  }
  if (spec.partition_bits > sorters::kPartitionBitsMax || spec.partition_bits < -1) {
    return make_error(ErrorCode::kInvalidArgument,
                      "partition_bits is {}, but must be -1 to {}",
                      spec.partition_bits,
                      sorters::kPartitionBitsMax);
  }
  constexpr int64_t kBatchRowsMin = kBlockRows;
  if (spec.batch_rows != 0 && spec.batch_rows < kBatchRowsMin) {
    return make_error(ErrorCode::kInvalidArgument,
                      "batch_rows is {}, but must be at least {}",
                      spec.batch_rows,
                      kBatchRowsMin);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<HashJoin>> HashJoin::create(JoinSpec spec,
                                                   TablePtr left,
                                                   TablePtr right,
                                                   RunEnvironment environment) {
  CD_TRY(check_spec(spec));
  auto join = std::unique_ptr<HashJoin>(new HashJoin);
  join->spec_ = std::move(spec);
  join->environment_ = std::move(environment);
  CD_ASSIGN(join->stores_[0], store_rows(*left, "left side"));
  CD_ASSIGN(join->stores_[1], store_rows(*right, "right side"));
  CD_ASSIGN(join->keys_,
            plan_keys(join->spec_,
                      with_seen_nulls(*join->stores_[0]),
                      with_seen_nulls(*join->stores_[1]),
                      join->environment_.seed));
  CD_ASSIGN(join->schema_, output_schema(join->spec_, *left->schema, *right->schema));
  CD_TRY(join->prepare());
  return join;
}

Status HashJoin::prepare() {
  auto residual = std::make_shared<Schema>();
  for (const OutputColumn& column : spec_.residual_columns) {
    const Side side = column.side == OutputSide::kRight ? Side::kRight : Side::kLeft;
    Field field = stores_[index_of(side)]->schema()->fields[column.column];
    field.name = column.name;
    residual->fields.push_back(std::move(field));
  }
  residual_schema_ = std::move(residual);
  PlannerInput input;
  input.spec = &spec_;
  input.keys = &keys_;
  input.machine = environment_.machine;
  for (const int side : {0, 1}) {
    morsels_[side] = cut_morsels(*stores_[side], environment_.threads);
    input.stores[side] = stores_[side].get();
    input.morsels[side] = &morsels_[side];
  }
  input.threads = worker_count();
  CD_ASSIGN(choice_, choose_join(input));
  partition_bits_ = spec_.partition_bits >= 0
                      ? spec_.partition_bits
                      : model::radix_bits(choice_.build_rows_expected, environment_.machine);
  return {};
}

std::unique_ptr<HashJoin> HashJoin::create(std::shared_ptr<const RankSides> sides,
                                           RunEnvironment environment) {
  auto join = std::unique_ptr<HashJoin>(new HashJoin);
  join->spec_ = sides->spec;
  join->environment_ = std::move(environment);
  for (const int side : {0, 1}) join->stores_[side] = sides->stores[side];
  join->schema_ = sides->schema;
  join->residual_schema_ = std::make_shared<Schema>();
  join->keys_ = sides->keys;
  join->partition_bits_ = sides->partition_bits;
  const Strategy strategy = sides->words != nullptr ? Strategy::kMerge : Strategy::kRadix;
  join->choice_.strategy_reason =
      fmt::format("{} ranks partitioned both sides into each other's memory", sides->ranks);
  join->choice_.build_reason =
      sides->spec.build_is_forced ? "forced by build=" : "the side with fewer rows in all ranks";
  join->sides_ = std::move(sides);
  PlannerInput input;
  input.spec = &join->spec_;
  input.keys = &join->keys_;
  for (const int side : {0, 1}) input.stores[side] = join->stores_[side].get();
  input.machine = join->environment_.machine;
  input.threads = join->worker_count();
  const RankSides& here = *join->sides_;
  join->choice_.chosen = {
      strategy, here.build, cost_of_arrived(input, here.sides.rows, strategy, here.build)};
  return join;
}

int64_t HashJoin::rows(Side side) const {
  return sides_ != nullptr ? sides_->sides.rows[index_of(side)] : stores_[index_of(side)]->rows();
}

int HashJoin::worker_count() const {
  return workers_for(rows(Side::kLeft) + rows(Side::kRight), environment_.threads);
}

int64_t HashJoin::batch_rows(const RowSink& sink) const {
  if (spec_.batch_rows > 0) return spec_.batch_rows;
  // Small joins get small batches: the memory of one is laid out for its full capacity.
  const int64_t rows_all = rows(Side::kLeft) + rows(Side::kRight);
  const int64_t most_rows =
      sink.batch_rows_wanted() > 0 ? sink.batch_rows_wanted() : kResultBatchRows;
  return std::clamp<int64_t>(
      (rows_all + kBlockRows) / kBlockRows * kBlockRows, kBlockRows, most_rows);
}

OutputPlan HashJoin::plan_for(Strategy strategy, const KeyPlan& keys) const {
  if (sides_ != nullptr) return sides_->output;
  OutputRequest request;
  request.spec = &spec_;
  request.keys = &keys;
  for (const int side : {0, 1}) {
    request.schemas[side] = with_seen_nulls(*stores_[side]);
    const bool is_build = side == index_of(choice_.chosen.build);
    request.refs_only[side] =
        strategy == Strategy::kDense || (strategy == Strategy::kDirect && !is_build);
  }
  return plan_output(request, schema_);
}

bool HashJoin::may_be_dense(Strategy strategy) const {
  if (strategy == Strategy::kDense) return true;
  if (strategy != Strategy::kRadix || spec_.kind == JoinKind::kAntiNullAware ||
      !keys_.packs_exactly || keys_.parts.size() != 1 ||
      keys_.parts[0].kind.form != KeyForm::kInteger64) {
    return false;
  }
  const Side build = choice_.chosen.build;
  const KeySample& sample = choice_.samples[index_of(build)];
  const int bits = dense_range_bits(sample.min, sample.max, rows(build));
  return bits > partition_bits_ && (int64_t{1} << bits) <= 4 * rows(build);
}

// The exact range of one side's keys.
Result<KeyLimits> HashJoin::scan_key_range(JoinRun& run, Side side) const {
  struct alignas(64) Line {
    KeyRange range;
  };
  std::vector<Line> ranges(run.team->worker_count());
  CD_TRY(run.for_side("scan key range", side, [&](int worker, const Morsel& morsel) -> Status {
    KeyEncoder encoder(keys_, *run.schema_of(side), side);
    encoder.widen(*morsel.batch, morsel.begin, morsel.rows, ranges[worker].range);
    return {};
  }));
  KeyRange all;
  for (const Line& line : ranges) all.widen(line.range);
  return KeyLimits{true, all.is_empty(), all.min, all.max};
}

// Scans the ranges that the strategy needs or the samples promise something of, and overlaps them.
Status HashJoin::find_limits(JoinRun& run, Strategy strategy, KeyPlan& keys) const {
  KeyLimits& limits = keys.limits;
  for (const Side side : {run.build(), run.other()}) {
    const Side pruned = opposite(side);
    const bool needed = side == run.build() && may_be_dense(strategy);
    if (!needed && choice_.overlap[index_of(pruned)] >= kOverlapWorthScan) continue;
    CD_ASSIGN(const KeyLimits range, scan_key_range(run, side));
    const KeyPart& part = keys.parts[0];
    const int column = side == Side::kLeft ? part.left : part.right;
    if (range.min == range.max && !stores_[index_of(side)]->column(column).any_nulls) {
      keys.only_key[index_of(side)] = range.min;
    }
    if (!limits.known) {
      limits = range;
      continue;
    }
    limits.min = std::max(limits.min, range.min);
    limits.max = std::min(limits.max, range.max);
    limits.empty = limits.empty || range.empty || limits.min > limits.max;
  }
  return {};
}

// Numbers the strings of the build keys, if a sample says that they are few. If they are more after
// all, the keys stay hashed.
Status HashJoin::name_strings(JoinRun& run, KeyPlan& keys) const {
  const Side build = run.build();
  if (!keys.can_name_strings || !choice_.few_strings[index_of(build)]) return {};
  constexpr uint32_t kNamesMax = 1 << 20;  // some 64 MiB of names, no longer in any cache
  const Schema& schema = *run.schema_of(build);
  std::vector<std::shared_ptr<const BytesInterner>> names(keys.parts.size());
  for (size_t p = 0; p < keys.parts.size(); ++p) {
    if (keys.parts[p].kind.form != KeyForm::kBytes) continue;
    const int column = build == Side::kLeft ? keys.parts[p].left : keys.parts[p].right;
    const DataType& type = schema.fields[column].type;
    std::vector<BytesInterner> interners;  // by worker
    for (int worker = 0; worker < run.team->worker_count(); ++worker) {
      interners.emplace_back(*environment_.memory, kNamesMax, keys.seed);
    }
    CD_TRY(run.for_side("name strings", build, [&](int worker, const Morsel& morsel) -> Status {
      for (int32_t at = 0; at < morsel.rows && !interners[worker].is_full(); at += kSorterRows) {
        const int32_t rows = std::min(kSorterRows, morsel.rows - at);
        CD_TRY(interners[worker].add(type, morsel.batch->columns[column], morsel.begin + at, rows));
      }
      return {};
    }));
    auto all = std::make_shared<BytesInterner>(std::move(interners[0]));
    for (size_t worker = 1; worker < interners.size(); ++worker)
      CD_TRY(all->add_all(interners[worker]));
    const bool is_full = std::any_of(interners.begin() + 1,
                                     interners.end(),
                                     [](const BytesInterner& part) { return part.is_full(); });
    if (all->is_full() || is_full) return {};
    names[p] = std::move(all);
  }
  keys.name_strings(std::move(names));
  return {};
}

// NOT IN: with a null among the right keys nothing is certain to be absent; with no right rows at all
// everything is; and a null on the left is never certain.
Status HashJoin::emit_null_aware(JoinRun& run, bool& done) const {
  done = false;
  if (spec_.kind != JoinKind::kAntiNullAware || stores_[1]->rows() == 0) return {};
  std::atomic<bool> any_null{false};
  CD_TRY(run.for_side("look for null keys", Side::kRight, [&](int, const Morsel& morsel) -> Status {
    KeyEncoder encoder(keys_, *run.schema_of(Side::kRight), Side::kRight);
    uint8_t live[kSorterRows];
    for (int32_t at = 0; at < morsel.rows; at += kSorterRows) {
      const int32_t rows = std::min(kSorterRows, morsel.rows - at);
      std::fill_n(live, rows, uint8_t{1});
      if (encoder.clear_nulls(*morsel.batch, morsel.begin + at, rows, live)) {
        any_null.store(true);
      }
    }
    return {};
  }));
  done = any_null.load();
  return {};
}

Status HashJoin::merge(JoinRun& run) const {
  MergeRequest request;
  request.keys = &keys_;
  if (sides_ != nullptr) {
    request.words = sides_->words.get();
    request.arrived = sides_->ranges.get();
    request.output = &sides_->output;
  }
  request.schema = schema_;
  request.residual_schema = residual_schema_;
  request.batch_rows = batch_rows(*run.sink);
  request.ranges = static_cast<int>(planned_ranges());
  request.memory = environment_.memory;
  return run_merge(run, request);
}

Status HashJoin::run_attempt(JoinRun& run, Strategy strategy) const {
  if (strategy == Strategy::kMerge) return merge(run);
  KeyPlan keys = keys_;
  if (sides_ == nullptr) {
    CD_TRY(name_strings(run, keys));
    CD_TRY(find_limits(run, strategy, keys));
  }
  if (sides_ == nullptr && may_be_dense(strategy)) {
    // Without any key in common, any range will do: no row passes the limits.
    const KeyLimits range = keys.limits.empty ? KeyLimits{} : keys.limits;
    const int bits = dense_range_bits(range.min, range.max, rows(run.build()));
    const bool narrow = strategy == Strategy::kDense || bits > partition_bits_;
    if (bits > 0 && narrow) {
      keys.mode = KeyMode::kDense;
      keys.range_min = range.min;
      keys.range_bits = bits;
      if (strategy == Strategy::kRadix && spec_.partition_bits < 0 && run.sink->counts_only() &&
          !join_roles(spec_.kind, run.build()).tracks_build()) {
        run.partition_bits =
            std::min(run.partition_bits, counted_partition_bits(bits, run.team->worker_count()));
      }
    } else if (strategy == Strategy::kDense) {
      run.findings.strategy_change = "the key range is wider than the sample showed";
      return run_attempt(run, Strategy::kRadix);
    }
  }
  run.findings.key_mode = key_mode_name(keys.mode);
  const OutputPlan plan = plan_for(strategy, keys);
  OutputContext output{
      &plan, &keys, {stores_[0], stores_[1]}, environment_.memory, batch_rows(*run.sink)};
  std::optional<RowComparer> comparer;
  if (keys.needs_verification()) {
    std::vector<KeyColumnPair> pairs;
    for (const KeyPart& part : keys.parts) {
      pairs.push_back({&stores_[0]->column(part.left), &stores_[1]->column(part.right), part.kind});
    }
    CD_ASSIGN(comparer, RowComparer::create(std::move(pairs), spec_.null_equals_null));
  }
  const Side build = choice_.chosen.build;
  const ResidualCheck residual(spec_, residual_schema_, output);
  const ProbeContext probe{&spec_,
                           &keys,
                           &output,
                           build,
                           join_roles(spec_.kind, build),
                           comparer.has_value() ? &*comparer : nullptr,
                           spec_.residual ? &residual : nullptr,
                           run.cancel};
  run.probe = &probe;
  run.output = &output;
  run.plan = &plan;
  run.keys = &keys;
  run.emitters.clear();
  run.probers.clear();
  for (int worker = 0; worker < run.team->worker_count(); ++worker) {
    run.emitters.push_back(std::make_unique<Emitter>(output, *run.sink, worker));
    run.probers.push_back(std::make_unique<Prober>(probe, *run.emitters.back()));
  }
  return run_strategy(run, strategy);
}

Status HashJoin::run_strategy(JoinRun& run, Strategy strategy) const {
  run.findings.strategy = strategy_name(strategy);
  if (strategy == Strategy::kDense) {
    CD_ASSIGN(const bool unique, run_dense(run));
    if (!unique) {
      run.findings.strategy_change = "the build keys are not unique";
      return run_attempt(run, Strategy::kRadix);
    }
  } else {
    CD_TRY(strategy == Strategy::kDirect ? run_direct(run) : run_radix(run));
  }
  CD_TRY(
      run.phase("finish batches", 0, [&](int worker) { return run.emitters[worker]->flush(1); }));
  for (const auto& emitter : run.emitters) run.profile->result_rows += emitter->rows();
  run.emitters.clear();
  run.probers.clear();
  return {};
}

Status HashJoin::run_phases(OperatorRun& shared) const {
  JoinRun run(shared);
  run.spec = &spec_;
  run.machine = environment_.machine;
  run.partition_bits = partition_bits_;
  for (const int side : {0, 1}) {
    run.morsels[side] = morsels_[side];
    run.rows[side] = rows(side == 0 ? Side::kLeft : Side::kRight);
  }
  const ProbeContext sides{&spec_, &keys_, nullptr, choice_.chosen.build, {}, nullptr, nullptr};
  OutputContext output;
  output.stores[0] = stores_[0];
  output.stores[1] = stores_[1];
  run.probe = &sides;
  run.output = &output;
  if (sides_ != nullptr) run.arrived = &sides_->sides;
  bool done = false;
  CD_TRY(emit_null_aware(run, done));
  if (!done) CD_TRY(run_attempt(run, choice_.chosen.strategy));
  for (const int side : {0, 1}) {
    if (choice_.order[side] == SeenOrder::kSampled && run.findings.order[side] == "unsorted") {
      run.findings.strategy_change = "a side is not sorted, though its sample was";
    }
  }
  run.profile->facts = findings_as_facts(run.findings);
  return {};
}

}  // namespace crossdock::operators
