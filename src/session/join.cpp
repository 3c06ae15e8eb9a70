// The public join: names become columns, runs become streams.
#include <thread>

#include "base/check.hpp"
#include "session/aggregate_sink.hpp"
#include "session/state.hpp"
#include "table/arrow_export.hpp"

namespace crossdock {
namespace {

struct SideNames {
  const Schema* schema;
  const char* where;
};

Result<std::vector<OutputColumn>> resolve(const std::vector<OutputItem>& items,
                                          SideNames left,
                                          SideNames right) {
  std::vector<OutputColumn> columns;
  for (const OutputItem& item : items) {
    OutputColumn column;
    column.name = item.name;
    if (item.side == "right") {
      column.side = OutputSide::kRight;
      CD_ASSIGN(column.column, right.schema->find(item.column, right.where));
    } else if (item.side == "left" || item.side == "key") {
      column.side = item.side == "key" ? OutputSide::kKey : OutputSide::kLeft;
      CD_ASSIGN(column.column, left.schema->find(item.column, left.where));
    } else {
      return make_error(ErrorCode::kInvalidArgument,
                        "side of output column '{}' is '{}', but must be left, right or key",
                        item.name,
                        item.side);
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

Status resolve_build(const std::string& build, JoinSpec& spec) {
  if (build == "auto") return {};
  if (build != "left" && build != "right") {
    return make_error(
        ErrorCode::kInvalidArgument, "build is '{}', but must be one of auto, left, right", build);
  }
  spec.build_is_forced = true;
  spec.forced_build = build == "left" ? Side::kLeft : Side::kRight;
  return {};
}

// The residual of the public API takes C structs and throws; the operator's takes batches and answers
// with a Status.
ResidualFilter wrap_residual(Residual residual) {
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

Result<JoinSpec> make_spec(const JoinOptions& options, const Schema& left, const Schema& right) {
  const SideNames left_names{&left, "left table"};
  const SideNames right_names{&right, "right table"};
  JoinSpec spec;
  CD_ASSIGN(spec.kind, parse_join_kind(options.how));
  CD_ASSIGN(spec.strategy, parse_strategy(options.strategy));
  CD_ASSIGN(spec.materialize, parse_materialize(options.materialize));
  CD_ASSIGN(spec.filter, parse_filter(options.filter));
  CD_TRY(resolve_build(options.build, spec));
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

// A join that runs in the background while its stream is read. Ends with the stream.
class BackgroundRun {
 public:
  BackgroundRun(std::shared_ptr<Join::State> state, int queue_batches)
      : state_(std::move(state)),
        cancel_(state_->cancel),
        sink_(queue_batches, *cancel_),
        thread_([this] { sink_.close(state_->run(sink_)); }) {}
  ~BackgroundRun() {
    cancel_->set();
    sink_.wake();
    thread_.join();
  }
  BackgroundRun(const BackgroundRun&) = delete;
  BackgroundRun& operator=(const BackgroundRun&) = delete;

  Result<std::optional<Batch>> next() { return sink_.next(); }

 private:
  std::shared_ptr<Join::State> state_;
  std::shared_ptr<CancelFlag> cancel_;
  QueueSink sink_;
  std::thread thread_;
};

void export_batches(SchemaPtr schema, std::vector<Batch> batches, ArrowArrayStream* out) {
  size_t next = 0;
  auto all = std::make_shared<std::vector<Batch>>(std::move(batches));
  export_stream(
      std::move(schema),
      [all, next]() mutable -> Result<std::optional<Batch>> {
        if (next == all->size()) return std::optional<Batch>();
        return std::optional<Batch>(std::move((*all)[next++]));
      },
      out);
}

}  // namespace

Status Join::State::run(JoinSink& sink) {
  JoinProfile measured;
  const Status status = join->run(sink, *cancel, progress, measured);
  const std::lock_guard lock(mutex);
  profile = std::move(measured);
  return status;
}

Join::Join(const Engine& engine,
           const ArrowTable& left,
           const ArrowTable& right,
           const JoinOptions& options)
    : state_(std::make_shared<State>()) {
  state_->engine = engine.state();
  state_->left = left.state();
  state_->right = right.state();
  const TablePtr& left_table = left.state()->table;
  const TablePtr& right_table = right.state()->table;
  JoinSpec spec = value_or_throw(make_spec(options, *left_table->schema, *right_table->schema));
  const Engine::State& own = *engine.state();
  state_->join = value_or_throw(HashJoin::create(
      std::move(spec), left_table, right_table, {own.memory, own.threads, own.machine, own.seed}));
}

std::string Join::plan() const { return plan_json(*state_); }
std::string Join::profile() const { return profile_json(*state_); }

// Each run starts uncancelled; a cancel that comes before it is for the run before.
static void begin_run(Join::State& state) {
  const std::lock_guard lock(state.mutex);
  state.cancel = std::make_shared<CancelFlag>();
  state.engine->memory->reset_peak();
}

int64_t Join::count() {
  begin_run(*state_);
  CountSink sink;
  ok_or_throw(state_->run(sink));
  return state_->profile.result_rows;
}

void Join::aggregate(const std::vector<std::pair<std::string, std::string>>& items,
                     ArrowArrayStream* out) {
  begin_run(*state_);
  AggregateSink sink = value_or_throw(
      AggregateSink::create(items, state_->join->schema(), state_->join->worker_count()));
  ok_or_throw(state_->run(sink));
  Batch row = value_or_throw(sink.finish(state_->profile.result_rows));
  SchemaPtr schema = row.schema;
  std::vector<Batch> rows;
  rows.push_back(std::move(row));
  export_batches(std::move(schema), std::move(rows), out);
}

void Join::collect(ArrowArrayStream* out) {
  begin_run(*state_);
  CollectSink sink(state_->join->worker_count());
  ok_or_throw(state_->run(sink));
  export_batches(state_->join->schema(), sink.take(), out);
}

void Join::stream(int queue_batches, ArrowArrayStream* out) {
  if (queue_batches < 1) {
    throw_error(make_error(
        ErrorCode::kInvalidArgument, "queue_batches is {}, but must be at least 1", queue_batches));
  }
  begin_run(*state_);
  auto run = std::make_shared<BackgroundRun>(state_, queue_batches);
  export_stream(
      state_->join->schema(), [run] { return run->next(); }, out);
}

JoinProgressView Join::progress() const {
  const JoinProgress& progress = state_->progress;
  return {progress.phase.load(), progress.rows_done.load(), progress.rows_total.load()};
}

void Join::cancel() {
  const std::lock_guard lock(state_->mutex);
  state_->cancel->set();
}

}  // namespace crossdock
