// Counts blocks, or leaves it to the operator that makes the rows.
#include "execution/counted_rows.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

namespace crossdock::execution {
namespace {

class CountedRows final : public BlockSink {
 public:
  CountedRows(int workers, std::optional<RowLimit> limit)
      : rows_(workers), limit_(limit.value_or(RowLimit{INT64_MAX, 0})) {}
  Status push(int worker, const RowBlock& block) override {
    const int64_t rows = rows_[worker].rows += block.rows;
    if (rows >= limit_.end()) enough_ = true;  // one block may have more partners than are wanted
    return {};
  }
  Status flush(int) override {
    if (limit_.end() < INT64_MAX && all() >= limit_.end()) enough_ = true;
    return {};
  }
  int64_t rows() const { return std::clamp<int64_t>(all() - limit_.offset, 0, limit_.rows); }
  const std::atomic<bool>* enough() const { return &enough_; }

 private:
  struct alignas(64) Counter {
    std::atomic<int64_t> rows{0};
  };
  int64_t all() const {
    int64_t sum = 0;
    for (const Counter& counter : rows_) sum += counter.rows.load(std::memory_order_relaxed);
    return sum;
  }

  std::vector<Counter> rows_;  // by worker
  const RowLimit limit_;
  std::atomic<bool> enough_{false};
};

}  // namespace

Result<int64_t> count_rows(operators::OperatorRun& run, Chain& chain, Meters* meters) {
  if (chain.is_of_operator() && !chain.limit.has_value()) {
    operators::CountSink sink;
    CD_TRY(chain.source->emit(run, sink));
    return chain.source->profile()->result_rows;
  }
  CountedRows counted(run.team->worker_count(), chain.limit);
  if (chain.limit.has_value()) chain.end_when(counted.enough());
  CD_TRY(run_chain(run, chain, counted, meters));
  return counted.rows();
}

}  // namespace crossdock::execution
