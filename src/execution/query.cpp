// The last pipeline of a plan ends in the sink of the run.
#include "execution/query.hpp"

#include <algorithm>
#include <atomic>

#include "execution/collect_sink.hpp"
#include "execution/estimates.hpp"
#include "execution/lowering.hpp"

namespace crossdock::execution {
namespace {

// Rows that are only counted are not read.
class CountedRows final : public BlockSink {
 public:
  CountedRows(int workers, std::optional<RowLimit> limit)
      : rows_(workers), limit_(limit.value_or(RowLimit{INT64_MAX, 0})) {}
  Status push(int worker, const RowBlock& block) override {
    rows_[worker].rows += block.rows;
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

operators::OperatorPlan Query::describe() const {
  operators::OperatorPlan described;
  described.name = "query";
  described.facts = {{"threads", int64_t{environment_.threads}}};
  for (operators::Fact& fact : estimated_facts(*plan_)) {
    described.facts.push_back(std::move(fact));
  }
  return described;
}

Status Query::run_phases(operators::OperatorRun& run) const {
  Lowering lowering(run, environment_, *plan_, options_);
  RunRecord& record = lowering.record();
  CD_ASSIGN(Chain chain, lowering.lower_limited(*plan_));
  chain.written = options_.written;
  const auto start = RunRecord::Clock::now();
  int64_t rows = 0;
  if (run.sink->counts_only()) {
    CountedRows counted(run.team->worker_count(), chain.limit);
    chain.source->end_when(counted.enough());
    CD_TRY(run_chain(run, chain, counted, record.meters()));
    rows = counted.rows();
  } else {
    CD_ASSIGN(rows, run_into(*run.sink, run, chain, environment_.memory, record.meters()));
  }
  record.add(chain, {"result", plan_.get(), rows}, start);
  run.profile->facts = record.facts(*plan_);
  run.profile->result_rows = rows;
  return {};
}

}  // namespace crossdock::execution
