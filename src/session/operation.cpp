// What all operations do: runs become streams, plans become text.
#include <thread>

#include "session/state.hpp"
#include "table/arrow_export.hpp"
#include "table/compact_views.hpp"

namespace crossdock {
namespace {

// What leaves the engine: in the threads of the workers, before the batches of all come together.
class CompactingSink final : public operators::RowSink {
 public:
  CompactingSink(operators::RowSink& inner, const Operation::State& state)
      : inner_(inner),
        memory_(state.engine->memory),
        is_needed_(has_views(*state.planned->schema())) {}

  bool counts_only() const override { return inner_.counts_only(); }
  bool wants_order() const override { return inner_.wants_order(); }
  int64_t batch_rows_wanted() const override { return inner_.batch_rows_wanted(); }
  Status accept(int worker, Batch batch) override {
    if (!is_needed_) return inner_.accept(worker, std::move(batch));
    CD_ASSIGN(Batch compact, compact_views(std::move(batch), *memory_));
    return inner_.accept(worker, std::move(compact));
  }

 private:
  operators::RowSink& inner_;
  std::shared_ptr<Memory> memory_;
  bool is_needed_;
};

// An operation that runs in the background while its stream is read. Ends with the stream.
class BackgroundRun {
 public:
  BackgroundRun(std::shared_ptr<Operation::State> state, int queue_batches)
      : state_(std::move(state)),
        cancel_(state_->cancel),
        sink_(queue_batches, *cancel_),
        compacting_(sink_, *state_),
        thread_([this] { sink_.close(state_->run(compacting_)); }) {}
  ~BackgroundRun() {
    cancel_->set();
    sink_.wake();
    thread_.join();
  }
  BackgroundRun(const BackgroundRun&) = delete;
  BackgroundRun& operator=(const BackgroundRun&) = delete;

  Result<std::optional<Batch>> next() { return sink_.next(); }

 private:
  std::shared_ptr<Operation::State> state_;
  std::shared_ptr<CancelFlag> cancel_;
  operators::QueueSink sink_;
  CompactingSink compacting_;
  std::thread thread_;
};

}  // namespace

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

operators::RunEnvironment run_environment(const Engine& engine) {
  const Engine::State& state = *engine.state();
  return {state.memory, state.threads, state.machine, state.seed};
}

std::shared_ptr<Operation::State> operation_state(const Engine& engine,
                                                  std::unique_ptr<operators::Operator> planned) {
  auto state = std::make_shared<Operation::State>();
  state->engine = engine.state();
  state->planned = std::move(planned);
  return state;
}

void Operation::State::begin_run() {
  const std::lock_guard lock(mutex);
  cancel = std::make_shared<CancelFlag>();
  engine->memory->reset_peak();
}

Status Operation::State::run(operators::RowSink& sink) {
  operators::RunProfile measured;
  const Status status = planned->run(sink, *cancel, progress, measured);
  const std::lock_guard lock(mutex);
  profile = std::move(measured);
  return status;
}

std::string Operation::plan() const { return plan_json(*state_); }
std::string Operation::profile() const { return profile_json(*state_); }

int64_t Operation::count() {
  state_->begin_run();
  operators::CountSink sink;
  ok_or_throw(state_->run(sink));
  return state_->profile.result_rows;
}

void Operation::collect(ArrowArrayStream* out, bool compact) {
  state_->begin_run();
  operators::CollectSink sink(state_->planned->worker_count());
  CompactingSink compacting(sink, *state_);
  ok_or_throw(state_->run(compact ? static_cast<operators::RowSink&>(compacting) : sink));
  export_batches(state_->planned->schema(), sink.take(), out);
}

void Operation::stream(int queue_batches, ArrowArrayStream* out) {
  if (queue_batches < 1) {
    throw_error(make_error(
        ErrorCode::kInvalidArgument, "queue_batches is {}, but must be at least 1", queue_batches));
  }
  state_->begin_run();
  auto run = std::make_shared<BackgroundRun>(state_, queue_batches);
  export_stream(
      state_->planned->schema(), [run] { return run->next(); }, out);
}

ProgressView Operation::progress() const {
  const operators::RunProgress& progress = state_->progress;
  return {progress.phase.load(), progress.rows_done.load(), progress.rows_total.load()};
}

void Operation::cancel() {
  const std::lock_guard lock(state_->mutex);
  state_->cancel->set();
}

}  // namespace crossdock
