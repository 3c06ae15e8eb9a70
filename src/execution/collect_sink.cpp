// One writer per worker; what belongs together is put together at the end.
#include "execution/collect_sink.hpp"

#include <algorithm>
#include <numeric>

namespace crossdock::execution {
namespace {

// Batches below this are worth a copy to become larger ones.
constexpr int64_t kSmallBatchRows = 1 << 13;

std::vector<int> all_columns(const BlockSchema& schema) {
  std::vector<int> columns(schema.places.size());
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

}  // namespace

CollectSink::Worker::Worker(const BlockSchema& schema, std::shared_ptr<Memory> memory)
    : columns(schema, all_columns(schema)),
      writer(schema.schema, std::move(memory), "the result") {}

Status CollectSink::end_batch(int index) {
  Worker& worker = *workers_[index];
  if (worker.writer.rows() == 0) return {};
  worker.rows += worker.writer.rows();
  if (out_ != nullptr) return out_->accept(index, worker.writer.finish());
  worker.batches.push_back({worker.morsel, worker.writer.finish()});
  return {};
}

int64_t CollectSink::rows() const {
  int64_t rows = 0;
  for (const auto& worker : workers_) rows += worker == nullptr ? 0 : worker->rows;
  return rows;
}

CollectSink::CollectSink(const Chain& chain, int workers, std::shared_ptr<Memory> memory)
    : schema_(chain.schema),
      stores_(chain.stores),
      all_columns_(all_columns(chain.schema)),
      ordered_(chain.is_ordered),
      memory_(std::move(memory)),
      workers_(workers) {}

Status CollectSink::push(int worker, const RowBlock& block) {
  if (workers_[worker] == nullptr) workers_[worker] = std::make_unique<Worker>(schema_, memory_);
  Worker& state = *workers_[worker];
  if (ordered_ && block.morsel != state.morsel) CD_TRY(end_batch(worker));
  state.morsel = block.morsel;
  if (state.writer.shares_dictionaries()) keep_owners(block, stores_, state.writer);
  const Batch& rows = state.columns.load(block);
  if (!state.writer.takes(rows, all_columns_)) CD_TRY(end_batch(worker));
  CD_TRY(state.writer.append(rows, all_columns_));
  const bool is_full = state.writer.rows() >= operators::kResultBatchRows || state.writer.is_full();
  return is_full ? end_batch(worker) : Status();
}

Result<std::vector<Batch>> CollectSink::finish() {
  std::vector<Written> all;
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i] == nullptr) continue;
    CD_TRY(end_batch(static_cast<int>(i)));
    std::vector<Written>& written = workers_[i]->batches;
    std::move(written.begin(), written.end(), std::back_inserter(all));
    written.clear();
  }
  if (ordered_) {
    std::stable_sort(all.begin(), all.end(), [](const Written& a, const Written& b) {
      return a.morsel < b.morsel;
    });
  }
  std::vector<Batch> batches;
  std::vector<Batch> small;
  int64_t small_rows = 0;
  const auto put_together = [&]() -> Status {
    if (small.size() == 1) batches.push_back(std::move(small[0]));
    if (small.size() > 1) {
      CD_ASSIGN(std::vector<Batch> whole, concatenate(small, schema_.schema, memory_));
      std::move(whole.begin(), whole.end(), std::back_inserter(batches));
    }
    small.clear();
    small_rows = 0;
    return {};
  };
  for (Written& written : all) {
    const bool is_small = written.batch.rows < kSmallBatchRows;
    if (!is_small || small_rows + written.batch.rows > operators::kResultBatchRows) {
      CD_TRY(put_together());
    }
    if (!is_small) {
      batches.push_back(std::move(written.batch));
      continue;
    }
    small_rows += written.batch.rows;
    small.push_back(std::move(written.batch));
  }
  CD_TRY(put_together());
  return batches;
}

}  // namespace crossdock::execution
