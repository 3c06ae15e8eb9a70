#include "execution/collect_sink.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

namespace crossdock::execution {
namespace {

using operators::OperatorRun;
using operators::OrderedEmitter;
using operators::RowSink;

// Batches below this are worth a copy to become larger ones.
constexpr int64_t kSmallBatchRows = 1 << 13;
constexpr int64_t kHeldPerWorker = 2;
// Long strings end a batch before its rows do.
constexpr int64_t kBatchBytes = int64_t{32} << 20;

std::vector<int> all_columns(const BlockSchema& schema) {
  std::vector<int> columns(schema.places.size());
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

// Puts small batches together. One call at a time.
class Together final : public RowSink {
 public:
  Together(RowSink& out, SchemaPtr schema, std::shared_ptr<Memory> memory)
      : out_(out), schema_(std::move(schema)), memory_(std::move(memory)) {}

  Status accept(int worker, Batch batch) override {
    const bool is_small = batch.rows < kSmallBatchRows;
    if (!is_small || rows_ + batch.rows > operators::kResultBatchRows) CD_TRY(finish(worker));
    if (!is_small) return out_.accept(worker, std::move(batch));
    rows_ += batch.rows;
    small_.push_back(std::move(batch));
    return {};
  }

  Status finish(int worker) {
    rows_ = 0;
    std::vector<Batch> small = std::exchange(small_, {});
    if (small.size() == 1) return out_.accept(worker, std::move(small[0]));
    if (small.empty()) return {};
    CD_ASSIGN(std::vector<Batch> whole, concatenate(small, schema_, memory_));
    for (Batch& batch : whole) CD_TRY(out_.accept(worker, std::move(batch)));
    return {};
  }

 private:
  RowSink& out_;
  SchemaPtr schema_;
  std::shared_ptr<Memory> memory_;
  std::vector<Batch> small_;
  int64_t rows_ = 0;
};

// Passes on the rows within a limit, and counts them. From all workers.
class FirstRows final : public RowSink {
 public:
  FirstRows(RowSink& out, std::optional<RowLimit> limit)
      : out_(out), limit_(limit.value_or(RowLimit{INT64_MAX, 0})), is_limited_(limit.has_value()) {
    enough_ = limit_.rows == 0;
  }
  bool wants_order() const override { return out_.wants_order(); }
  int64_t batch_rows_wanted() const override { return out_.batch_rows_wanted(); }

  Status accept(int worker, Batch batch) override {
    if (!is_limited_) {
      passed_.fetch_add(batch.rows, std::memory_order_relaxed);
      return out_.accept(worker, std::move(batch));
    }
    const std::lock_guard lock(mutex_);
    const int64_t skipped = std::min(limit_.offset - skipped_, batch.rows);
    const int64_t taken = std::min(limit_.rows - passed_, batch.rows - skipped);
    skipped_ += skipped;
    passed_ += taken;
    if (passed_ == limit_.rows) enough_ = true;
    if (taken == 0) return {};
    if (taken < batch.rows) {
      for (ColumnView& column : batch.columns) column = slice(column, skipped, taken);
      batch.rows = taken;
    }
    return out_.accept(worker, std::move(batch));
  }

  int64_t passed() const { return passed_; }
  const std::atomic<bool>* enough() const { return is_limited_ ? &enough_ : nullptr; }

 private:
  RowSink& out_;
  const RowLimit limit_;
  const bool is_limited_;
  std::mutex mutex_;
  int64_t skipped_ = 0;
  std::atomic<int64_t> passed_{0};
  std::atomic<bool> enough_{false};
};

// Gives the columns of an operator's batches the places and names that they have in the chain.
class PlacedColumns final : public RowSink {
 public:
  PlacedColumns(RowSink& out, const Chain& chain)
      : out_(out), schema_(chain.schema.schema), places_(chain.schema.places) {}
  bool counts_only() const override { return out_.counts_only(); }
  bool wants_order() const override { return out_.wants_order(); }
  int64_t batch_rows_wanted() const override { return out_.batch_rows_wanted(); }
  Status accept(int worker, Batch batch) override {
    std::vector<ColumnView> columns;
    for (const ColumnPlace& place : places_) columns.push_back(batch.columns[place.column]);
    batch.columns = std::move(columns);
    batch.schema = schema_;
    return out_.accept(worker, std::move(batch));
  }

 private:
  RowSink& out_;
  const SchemaPtr schema_;
  const std::vector<ColumnPlace>& places_;
};

// Whether an operator's batches can go on as they are.
bool passes_batches(const Chain& chain) {
  if (!chain.is_of_operator()) return false;
  const std::vector<Field>& stored_fields = chain.source->rows_of()->schema()->fields;
  const std::vector<Field>& written = chain.written_as()->fields;
  for (size_t c = 0; c < written.size(); ++c) {
    if (written[c].type != stored_fields[chain.schema.places[c].column].type) return false;
  }
  return true;
}

}  // namespace

CollectSink::Worker::Worker(const BlockSchema& schema,
                            SchemaPtr written,
                            std::shared_ptr<Memory> memory)
    : columns(schema, all_columns(schema), Decimals::kAsStored),
      writer(std::move(written), std::move(memory), "the result", schema.schema) {}

CollectSink::CollectSink(const Chain& chain, int workers, std::shared_ptr<Memory> memory)
    : schema_(chain.schema),
      written_(chain.written_as()),
      stores_(chain.stores),
      all_columns_(all_columns(chain.schema)),
      memory_(std::move(memory)),
      workers_(workers) {}

Status CollectSink::end_batch(int index) {
  Worker& worker = *workers_[index];
  if (worker.writer.rows() == 0) return {};
  if (in_order_ != nullptr) return in_order_->put(worker.morsel, worker.writer.finish());
  return out_->accept(index, worker.writer.finish());
}

Status CollectSink::push(int worker, const RowBlock& block) {
  if (workers_[worker] == nullptr) {
    workers_[worker] = std::make_unique<Worker>(schema_, written_, memory_);
  }
  Worker& state = *workers_[worker];
  state.morsel = block.morsel;
  if (state.writer.shares_dictionaries()) keep_owners(block, stores_, state.writer);
  const Batch& rows = state.columns.load(block);
  if (!state.writer.takes(rows, all_columns_)) CD_TRY(end_batch(worker));
  CD_TRY(state.writer.append(rows, all_columns_));
  const bool is_full =
      state.writer.rows() >= batch_rows_ || state.writer.string_bytes() >= kBatchBytes;
  return is_full ? end_batch(worker) : Status();
}

Status CollectSink::end(int worker, int64_t morsel) {
  if (in_order_ == nullptr) return {};
  if (workers_[worker] != nullptr) CD_TRY(end_batch(worker));
  return in_order_->end(morsel);
}

void CollectSink::abort(const Error& error) {
  if (in_order_ != nullptr) in_order_->abort(error);
}

Status CollectSink::finish() {
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i] != nullptr) CD_TRY(end_batch(static_cast<int>(i)));
  }
  return {};
}

Result<int64_t> run_into(RowSink& out,
                         OperatorRun& run,
                         Chain& chain,
                         const std::shared_ptr<Memory>& memory,
                         Meters* meters) {
  if (passes_batches(chain)) {
    FirstRows first(out, chain.limit);
    PlacedColumns placed(first, chain);
    if (chain.limit.has_value()) chain.end_when(first.enough());
    CD_TRY(chain.source->emit(run, placed));
    return first.passed();
  }
  const int workers = run.team->worker_count();
  Together together(out, chain.written_as(), memory);
  const bool in_order = chain.is_ordered && out.wants_order();
  FirstRows first(in_order ? static_cast<RowSink&>(together) : out, chain.limit);
  OrderedEmitter emitter(first, *run.cancel, kHeldPerWorker * workers);
  CollectSink sink(chain, workers, memory);
  if (chain.limit.has_value()) {
    sink.set_batch_rows(std::clamp<int64_t>(chain.limit->end(), 1, operators::kResultBatchRows));
    chain.end_when(first.enough());
  }
  if (in_order) {
    sink.pass_on(emitter);
    chain.source->set_ends(&sink);
  } else {
    sink.pass_on(first);
  }
  CD_TRY(run_chain(run, chain, sink, meters));
  CD_TRY(sink.finish());
  CD_TRY(together.finish(0));
  return first.passed();
}

}  // namespace crossdock::execution
