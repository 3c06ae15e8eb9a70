#include "execution/pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>

#include "execution/table_source.hpp"
#include "operators/run/morsel.hpp"

namespace crossdock::execution {
namespace {

using operators::Morsel;
using operators::OperatorRun;

// Rows that have left a sample, after which no further block is sampled: one with thousands of partners a row would
// take seconds.
constexpr int64_t kPassedEnough = int64_t{1} << 22;
constexpr int64_t kEmittedBatchRows = 1
                                   << 14;  // of operators in front of stages: read once, in cache

// Cuts the batches of an operator into blocks.
class BlockCutter final : public operators::RowSink {
 public:
  // What is done with a morsel when its rows have been pushed.
  using End = std::function<Status(int worker, int64_t morsel, Status status)>;
  BlockCutter(BlockSink& first, bool wants_order, End end)
      : first_(first), wants_order_(wants_order), end_(std::move(end)) {}
  bool wants_order() const override { return wants_order_; }
  int64_t batch_rows_wanted() const override { return kEmittedBatchRows; }
  Status accept(int worker, Batch batch) override {
    const int64_t number = next_.fetch_add(1, std::memory_order_relaxed);
    Morsel morsel{&batch, 0, static_cast<int32_t>(batch.rows), 0};
    Status status = push_rows(worker, morsel, number, first_);
    if (status.ok()) status = first_.flush(worker);
    return end_(worker, number, std::move(status));
  }

 private:
  BlockSink& first_;
  const bool wants_order_;
  const End end_;
  std::atomic<int64_t> next_{0};
};

// Ends an operator when what it sends rows to has enough of them.
class EndingSink final : public operators::RowSink {
 public:
  EndingSink(operators::RowSink& out, const std::atomic<bool>& enough, CancelFlag& end)
      : out_(out), enough_(enough), end_(end) {}
  bool counts_only() const override { return out_.counts_only(); }
  bool wants_order() const override { return out_.wants_order(); }
  int64_t batch_rows_wanted() const override { return out_.batch_rows_wanted(); }
  Status accept(int worker, Batch batch) override {
    CD_TRY(out_.accept(worker, std::move(batch)));
    if (enough_.load(std::memory_order_relaxed)) end_.set();
    return {};
  }

 private:
  operators::RowSink& out_;
  const std::atomic<bool>& enough_;
  CancelFlag& end_;
};

class OperatorSource final : public Source {
 public:
  OperatorSource(std::unique_ptr<operators::Operator> rows_of,
                 std::string name,
                 bool ordered,
                 int64_t rows)
      : operator_(std::move(rows_of)), name_(std::move(name)), ordered_(ordered), rows_(rows) {}

  Status run(OperatorRun& run, BlockSink& first) override {
    BlockCutter cutter(first, ordered_, [this](int worker, int64_t morsel, Status status) {
      return ended(worker, morsel, std::move(status));
    });
    return emit(run, cutter);
  }
  Status emit(OperatorRun& run, operators::RowSink& sink) override {
    const std::atomic<bool>* enough = enough_flag();
    if (enough == nullptr) return operator_->run(sink, *run.cancel, *run.progress, profile_);
    if (has_enough()) return {};
    CancelFlag end(run.cancel);
    EndingSink ending(sink, *enough, end);
    Status status = operator_->run(ending, end, *run.progress, profile_);
    const bool was_ended = !status.ok() && status.error().code == ErrorCode::kCancelled &&
                           has_enough() && !run.cancel->is_set();
    return was_ended ? Status() : status;
  }
  std::string describe() const override { return name_; }
  int64_t rows() const override { return rows_; }
  const operators::Operator* rows_of() const override { return operator_.get(); }
  const operators::RunProfile* profile() const override { return &profile_; }

 private:
  std::unique_ptr<operators::Operator> operator_;
  std::string name_;
  bool ordered_;
  int64_t rows_;
  operators::RunProfile profile_;
};

class EmittedSource final : public Source {
 public:
  EmittedSource(EmittedRows rows, std::string name)
      : rows_(std::move(rows)), name_(std::move(name)) {}
  Status run(OperatorRun& run, BlockSink& first) override {
    BlockCutter cutter(first, false, [](int, int64_t, Status status) { return status; });
    return rows_.emit(run, cutter);
  }
  Result<int64_t> sample(BlockSink& first, const std::vector<bool>& /*columns*/) override {
    BlockCutter cutter(first, false, [](int, int64_t, Status status) { return status; });
    return rows_.sample(cutter);
  }
  std::string describe() const override { return name_; }
  int64_t rows() const override { return rows_.expected; }

 private:
  EmittedRows rows_;
  std::string name_;
};

class CountingSink final : public BlockSink {
 public:
  Status push(int, const RowBlock& block) override {
    rows += block.rows;
    if (rows >= kPassedEnough) enough = true;
    return {};
  }
  Status flush(int) override { return {}; }
  int64_t rows = 0;
  std::atomic<bool> enough{false};
};

class DiscardingSink final : public BlockSink {
 public:
  Status push(int, const RowBlock&) override { return {}; }
  Status flush(int) override { return {}; }
};

// The first so many stages.
BlockSink& connect_some(Chain& chain, size_t stages, BlockSink& sink) {
  BlockSink* next = &sink;
  for (size_t i = stages; i-- > 0;) {
    chain.stages[i]->set_next(next);
    next = chain.stages[i].get();
  }
  return *next;
}

BlockSink& connect(Chain& chain, BlockSink& sink) {
  return connect_some(chain, chain.stages.size(), sink);
}

// Shows a stage that keeps the first rows of an order some that are likely to be: then the source leaves out most
// others from the start, and not only once it has come to these.
Status show_likely_first(OperatorRun& run, Chain& chain) {
  for (size_t s = 0; s < chain.stages.size(); ++s) {
    Stage& stage = *chain.stages[s];
    if (const auto key = stage.first_key(); key.has_value()) {
      DiscardingSink nothing;
      BlockSink& first = connect_some(chain, s + 1, nothing);
      CD_TRY(chain.source->push_likely_first(
          run, *key, first, [&] { return !stage.known_bounds().empty(); }));
      stage.forget_rows();
      return {};
    }
    if (!stage.can_be_sampled()) return {};
  }
  return {};
}

// As connect(), with a meter in front of each part.
BlockSink& connect_metered(Chain& chain, BlockSink& sink, Meters& meters) {
  auto& parts = meters.parts;
  parts.resize(chain.stages.size() + 1);
  parts.back() = std::make_unique<Meter>(sink, meters.workers);
  for (size_t i = chain.stages.size(); i-- > 0;) {
    chain.stages[i]->set_next(parts[i + 1].get());
    parts[i] = std::make_unique<Meter>(*chain.stages[i], meters.workers);
  }
  return *parts.front();
}

// The run of a chain whose parts are measured.
Status run_metered(OperatorRun& run, Chain& chain, BlockSink& sink, Meters& meters) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  meters.workers = run.team->worker_count();
  BlockSink& first = connect_metered(chain, sink, meters);
  const auto start = Clock::now();
  CD_TRY(chain.source->run(run, first));
  meters.run_seconds = seconds_since(start);
  for (size_t s = 0; s < chain.stages.size(); ++s) {
    const auto finish_start = Clock::now();
    CD_TRY(chain.stages[s]->finish(run));
    const double elapsed = seconds_since(finish_start);
    // Everything in front of the stage waits for what it does.
    for (size_t m = 0; m <= s; ++m) meters.parts[m]->add_seconds(elapsed);
    meters.run_seconds += elapsed / meters.workers;
  }
  return {};
}

// The conditions of the filters right behind the source that are on one column and cannot fail, a list for each column.
// `taken`: a filter that has no others is left out, since the source applies them.
std::vector<std::vector<expressions::ExpressionPtr>> source_conditions(Chain& chain, bool taken) {
  std::vector<std::vector<expressions::ExpressionPtr>> lists;
  auto& stages = chain.stages;
  for (size_t s = 0; s < stages.size() && stages[s]->only_drops_rows();) {
    const auto conditions = stages[s]->conditions();
    size_t left = conditions.size();
    for (const expressions::ExpressionPtr& condition : conditions) {
      const std::vector<int> columns = columns_of({condition});
      if (columns.size() != 1 || can_fail(*condition)) continue;
      --left;
      const auto same = std::find_if(lists.begin(), lists.end(), [&](const auto& list) {
        return columns_of(list) == columns;
      });
      (same != lists.end() ? *same : lists.emplace_back()).push_back(condition);
    }
    if (left > 0 || conditions.empty() || !taken) {
      ++s;
    } else {
      stages.erase(stages.begin() + static_cast<ptrdiff_t>(s));
    }
  }
  return lists;
}

Status prepare_source(Chain& chain) {
  const bool applies_conditions =
      !chain.source_columns.empty();  // a table has them held against zones alone
  Source::Demand demand;
  if (chain.source_tests) demand.conditions = source_conditions(chain, applies_conditions);
  demand.columns.assign(chain.source_columns.size(), false);
  if (applies_conditions) {
    std::vector<int> all(chain.schema.places.size());
    std::iota(all.begin(), all.end(), 0);
    mark_places(chain.schema, all, demand.columns);
  }
  // Behind a stage that marks rows of its build side, a row that another will drop still counts.
  bool may_test = true;
  for (const auto& stage : chain.stages) {
    if (applies_conditions) stage->mark_read(demand.columns);
    if (may_test && chain.source_tests) demand.testing.push_back(stage.get());
    may_test = may_test && stage->can_be_sampled();
  }
  // A stage may drop the first row that has a value, and no other.
  if (chain.stages.empty() && chain.source_tests) demand.distinct_column = chain.distinct_column;
  return chain.source->prepare(std::move(demand));
}

}  // namespace

BlockSchema batch_schema(SchemaPtr schema, const RowStore* store) {
  BlockSchema blocks;
  for (int c = 0; c < schema->column_count(); ++c) blocks.places.push_back({0, c});
  blocks.schema = std::move(schema);
  blocks.nullable = {false};
  blocks.stores = {store};
  return blocks;
}

Status Source::emit(OperatorRun&, operators::RowSink&) {
  return make_error(
      ErrorCode::kInternal, "{} is no operator, but its batches are asked for", describe());
}

Status Source::ended(int worker, int64_t morsel, Status status) const {
  if (ends_ == nullptr) return status;
  if (status.ok()) status = ends_->end(worker, morsel);
  if (!status.ok()) ends_->abort(status.error());
  return status;
}

int64_t Chain::rows_expected() const {
  const auto rows = std::ceil(static_cast<double>(source->rows()) * pass_rate);
  const int64_t most = limit.has_value() ? limit->rows : INT64_MAX;
  return std::min(static_cast<int64_t>(rows), most);
}

void keep_owners(const RowBlock& block, const Owners& stores, BatchWriter& writer) {
  for (size_t o = 0; o < block.origins.size(); ++o) {
    if (stores[o] != nullptr) writer.keep(stores[o]);
    if (stores[o] == nullptr && block.origins[o].batch != nullptr) {
      writer.keep(block.origins[o].batch->owner);
    }
  }
}

SourceColumn Chain::source_column(int column) const {
  const ColumnPlace& place = schema.places[column];
  if (place.origin != 0 || source_columns.empty()) return {};
  return source_columns[place.column];
}

Status run_chain(OperatorRun& run, Chain& chain, BlockSink& sink, Meters* meters) {
  if (!chain.source_columns.empty() || chain.table != nullptr) CD_TRY(prepare_source(chain));
  CD_TRY(show_likely_first(run, chain));
  if (meters != nullptr) return run_metered(run, chain, sink, *meters);
  CD_TRY(chain.source->run(run, connect(chain, sink)));
  for (const auto& stage : chain.stages) CD_TRY(stage->finish(run));
  return {};
}

Status sample_chain(Chain& chain) {
  chain.is_sampled = true;
  const bool can_be_sampled =
      std::all_of(chain.stages.begin(), chain.stages.end(), [](const auto& stage) {
        return stage->can_be_sampled();
      });
  if (chain.stages.empty() || !can_be_sampled) return {};
  std::vector<bool> columns(chain.source_columns.size(), false);
  for (const auto& stage : chain.stages) {
    if (!columns.empty()) stage->mark_read(columns);
  }
  CountingSink counter;
  chain.source->end_when(&counter.enough);
  const Result<int64_t> sampled = chain.source->sample(connect(chain, counter), columns);
  chain.source->end_when(nullptr);
  CD_ASSIGN(const int64_t rows, sampled);
  if (rows == 0) return {};
  // A sample without a row says "less than one in as many".
  const double passed = std::max(0.5, static_cast<double>(counter.rows));
  chain.pass_rate = passed / static_cast<double>(rows);
  return {};
}

Chain table_chain(TablePtr table,
                  std::shared_ptr<const RowStore> store,
                  std::string name,
                  int threads) {
  Chain chain;
  chain.schema = batch_schema(table->schema, store.get());
  chain.source = make_table_source(table, store, std::move(name), threads);
  chain.stores = {std::move(store)};
  chain.table = std::move(table);
  return chain;
}

Chain operator_chain(std::unique_ptr<operators::Operator> rows_of,
                     std::string name,
                     bool ordered,
                     int64_t rows) {
  Chain chain;
  chain.schema = batch_schema(rows_of->schema(), nullptr);
  rows = std::min(rows, rows_of->rows_expected().value_or(rows));
  chain.source =
      std::make_unique<OperatorSource>(std::move(rows_of), std::move(name), ordered, rows);
  chain.stores = {nullptr};
  chain.is_ordered = ordered;
  return chain;
}

Chain emitted_chain(EmittedRows rows, SchemaPtr schema, std::string name) {
  Chain chain;
  chain.schema = batch_schema(std::move(schema), nullptr);
  chain.source = std::make_unique<EmittedSource>(std::move(rows), std::move(name));
  chain.stores = {nullptr};
  chain.is_ordered = false;
  return chain;
}

}  // namespace crossdock::execution
