// Sorts, prepares the functions, and lets workers take slices of rows in turns.
#include "operators/window/table_window.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "operators/run/ordered_emitter.hpp"
#include "operators/sort/table_sort.hpp"
#include "operators/window/first_rows.hpp"
#include "operators/window/window_function.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kBatchesEachMax = 32;  // of one slice of rows

// A slice of the batches, by one worker.
class BatchSlice {
 public:
  BatchSlice(const WindowContext& context,
             const FrameSource& frames,
             const std::vector<PreparedFunction>& functions,
             int64_t first_row)
      : context_(context), walker_(*context.starts, first_row) {
    for (size_t f = 0; f < functions.size(); ++f) {
      runs_.push_back(functions[f].start());
      frame_of_.push_back(-1);
      if (!functions[f].has_frame) continue;
      const WindowFrame frame = context.spec->frame_of(context.spec->items[f]);
      const auto known = std::ranges::find(kinds_, frame);
      frame_of_[f] = static_cast<int>(known - kinds_.begin());
      if (known != kinds_.end()) continue;
      kinds_.push_back(frame);
      walkers_.emplace_back(frame, frames);
      rows_.push_back(std::make_unique<FrameRows>());
    }
  }

  // The batch with the functions' columns.
  Result<Batch> add_columns(const Batch& batch, const SchemaPtr& schema) {
    auto memory = std::make_shared<BatchMemory>(context_.memory);
    for (const auto& run : runs_) CD_TRY(run->begin_batch(batch.rows, *memory));
    for (int64_t at = 0; at < batch.rows; at += kWindowRows) {
      walker_.fill(static_cast<int32_t>(std::min<int64_t>(kWindowRows, batch.rows - at)), block_);
      for (size_t k = 0; k < walkers_.size(); ++k) walkers_[k].fill(block_, *rows_[k]);
      for (size_t f = 0; f < runs_.size(); ++f) {
        const FrameRows* frame = frame_of_[f] < 0 ? nullptr : rows_[frame_of_[f]].get();
        CD_TRY(runs_[f]->add(block_, frame, at));
      }
    }
    Batch whole{schema, batch.rows, batch.columns, nullptr};
    for (const auto& run : runs_) {
      CD_ASSIGN(ColumnView column, run->end_batch(*memory));
      whole.columns.push_back(column);
    }
    memory->keep(batch.owner);
    memory->keep(context_.rows->store());
    whole.owner = std::move(memory);
    return whole;
  }

 private:
  const WindowContext& context_;
  BlockWalker walker_;
  std::vector<std::unique_ptr<FunctionRun>> runs_;
  std::vector<int> frame_of_;       // by function: which of the frames; -1: none
  std::vector<WindowFrame> kinds_;  // different frames
  std::vector<FrameWalker> walkers_;
  std::vector<std::unique_ptr<FrameRows>> rows_;
  WindowBlock block_;
};

Prepared prepare(const WindowContext& context, const WindowItem& item, const DataType& type) {
  if (is_window_aggregate(item.function)) return prepare_aggregate(context, item, type);
  switch (item.function) {
    case WindowFunction::kStringAgg:
      return prepare_string_agg(context, item, type);
    case WindowFunction::kCountDistinct:
    case WindowFunction::kQuantileExact:
    case WindowFunction::kQuantileDisc:
      return prepare_ordered(context, item, type);
    case WindowFunction::kFrameBegin:
    case WindowFunction::kFrameEnd:
      return prepare_frame_end(context, item, type);
    default:
      break;
  }
  if (item.function >= WindowFunction::kLag) return prepare_value(context, item);
  return prepare_rank(context, item);
}

// The values of the order key, where a frame is a range of them.
Result<std::optional<WindowValues>> range_keys(const WindowContext& context) {
  const WindowSpec& spec = *context.spec;
  const bool needed = std::ranges::any_of(spec.items, [&](const WindowItem& item) {
    return FrameWalker::reads_keys(spec.frame_of(item));
  });
  if (!needed) return std::optional<WindowValues>();
  CD_ASSIGN(WindowValues keys,
            WindowValues::load(*context.run, *context.rows, spec.orders[0].column));
  return std::optional<WindowValues>(std::move(keys));
}

using RangeTargets = std::vector<std::pair<int, WindowValues>>;

// The columns that ranges reach to.
Result<RangeTargets> range_targets(const WindowContext& context) {
  RangeTargets targets;
  for (const WindowItem& item : context.spec->items) {
    const WindowFrame frame = context.spec->frame_of(item);
    for (const FrameBound& bound : {frame.start, frame.end}) {
      const bool is_loaded = std::ranges::any_of(
          targets, [&](const auto& entry) { return entry.first == bound.column; });
      if (bound.column < 0 || is_loaded) continue;
      CD_ASSIGN(WindowValues values, WindowValues::load(*context.run, *context.rows, bound.column));
      targets.emplace_back(bound.column, std::move(values));
    }
  }
  return targets;
}

}  // namespace

Result<std::unique_ptr<TableWindow>> TableWindow::create(WindowSpec spec,
                                                         TablePtr table,
                                                         RunEnvironment environment) {
  auto window = std::unique_ptr<TableWindow>(new TableWindow);
  CD_ASSIGN(window->schema_, window_schema(spec, *table->schema));
  window->spec_ = std::move(spec);
  window->table_ = std::move(table);
  window->environment_ = std::move(environment);
  return window;
}

int TableWindow::worker_count() const { return workers_for(table_->rows, environment_.threads); }

OperatorPlan TableWindow::describe() const {
  OperatorPlan plan;
  plan.name = "window";
  plan.facts = {{"threads", int64_t{worker_count()}},
                {"rows", table_->rows},
                {"functions", static_cast<int64_t>(spec_.items.size())}};
  return plan;
}

// The table's rows by partition and order, equal rows as they were.
Result<std::shared_ptr<const RowStore>> TableWindow::sorted(OperatorRun& run) const {
  SortSpec sort;
  for (const int column : spec_.partition) sort.keys.push_back({column, false, false});
  for (const SortKey& key : spec_.orders) sort.keys.push_back(key);
  if (spec_.position >= 0) sort.keys.push_back({spec_.position, false, false});
  TablePtr table = table_;
  if (spec_.first_rows > 0) {
    CD_ASSIGN(table, possible_first_rows(run, spec_, std::move(table)));
  }
  Table rows{table->schema, {}, table->rows};
  if (sort.keys.empty()) {
    std::ranges::copy_if(table->batches, std::back_inserter(rows.batches), [](const Batch& batch) {
      return batch.rows > 0;
    });
    return store_rows(rows, "window");
  }
  for (int c = 0; c < table_->schema->column_count(); ++c) {
    sort.output.push_back({c, table_->schema->fields[c].name});
  }
  sort.stable = true;
  CD_ASSIGN(const auto sorter, TableSort::create(sort, std::move(table), environment_));
  CollectSink sink(sorter->worker_count());
  RunProfile profile;
  CD_TRY(sorter->run(sink, *run.cancel, *run.progress, profile));
  for (const PhaseTime& phase : profile.phases) run.profile->phases.push_back(phase);
  rows.batches = sink.take();
  return store_rows(rows, "window");
}

Status TableWindow::run_phases(OperatorRun& run) const {
  const bool has_all_rows = spec_.first_rows < 0;
  if ((run.sink->counts_only() && has_all_rows) || table_->rows == 0) {
    run.profile->result_rows = table_->rows;
    return {};
  }
  CD_ASSIGN(const auto store, sorted(run));
  const RowsInOrder rows(store);
  CD_ASSIGN(const WindowStarts starts, find_starts(run, rows, spec_));
  const WindowContext context{&run, &spec_, &rows, &starts, environment_.memory};
  std::vector<PreparedFunction> functions;
  const int inputs = table_->schema->column_count();
  for (size_t f = 0; f < spec_.items.size(); ++f) {
    const DataType& type = schema_->fields[static_cast<size_t>(inputs) + f].type;
    CD_ASSIGN(auto function, prepare(context, spec_.items[f], type));
    functions.push_back(std::move(function));
  }
  CD_ASSIGN(const std::optional<WindowValues> keys, range_keys(context));
  CD_ASSIGN(const RangeTargets targets, range_targets(context));
  FrameSource frames{&starts, keys.has_value() ? &*keys : nullptr, &targets, false, false};
  if (!spec_.orders.empty()) {
    frames.descending = spec_.orders[0].descending;
    frames.nulls_first = spec_.orders[0].nulls_first;
  }
  const int workers = run.team->worker_count();
  const int64_t each =
      std::clamp<int64_t>(rows.batch_count() / (int64_t{workers} * 4), 1, kBatchesEachMax);
  const int64_t slices = (rows.batch_count() + each - 1) / each;
  OrderedEmitter emitter(*run.sink, *run.cancel, kHeldPerWorker * workers);
  CD_TRY(for_ordered_parts(
      run, "functions", slices, emitter, [&](int, int64_t part, OrderedEmitter& out) -> Status {
        const int64_t begin = part * each;
        const int64_t end = std::min(begin + each, rows.batch_count());
        const auto slice =
            std::make_unique<BatchSlice>(context, frames, functions, rows.start_of(begin));
        for (int64_t b = begin; b < end; ++b) {
          CD_TRY(run.check_cancelled());
          CD_ASSIGN(Batch batch, slice->add_columns(rows.batch(b), schema_));
          CD_TRY(out.put(part, std::move(batch)));
        }
        return {};
      }));
  run.profile->result_rows = emitter.rows();
  return {};
}

}  // namespace crossdock::operators
