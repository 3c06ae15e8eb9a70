// The last pipeline of a plan ends in the sink of the run.
#include "execution/query.hpp"

#include "execution/collect_sink.hpp"
#include "execution/estimates.hpp"
#include "execution/lowering.hpp"

namespace crossdock::execution {
namespace {

// Rows that are only counted are not read.
class CountedRows final : public BlockSink {
 public:
  explicit CountedRows(int workers) : rows_(workers) {}
  Status push(int worker, const RowBlock& block) override {
    rows_[worker].rows += block.rows;
    return {};
  }
  Status flush(int) override { return {}; }
  int64_t rows() const {
    int64_t sum = 0;
    for (const Counter& counter : rows_) sum += counter.rows;
    return sum;
  }

 private:
  struct alignas(64) Counter {
    int64_t rows = 0;
  };
  std::vector<Counter> rows_;  // by worker
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
  Lowering lowering(run, environment_, *plan_, measures_);
  RunRecord& record = lowering.record();
  CD_ASSIGN(Chain chain, lowering.lower(*plan_));
  const auto start = RunRecord::Clock::now();
  int64_t rows = 0;
  if (run.sink->counts_only()) {
    CountedRows counted(run.team->worker_count());
    CD_TRY(run_chain(run, chain, counted, record.meters()));
    rows = counted.rows();
  } else {
    CollectSink sink(chain, run.team->worker_count(), environment_.memory);
    if (!chain.is_ordered) sink.pass_on(*run.sink);
    CD_TRY(run_chain(run, chain, sink, record.meters()));
    CD_ASSIGN(std::vector<Batch> batches, sink.finish());
    rows = sink.rows();
    for (Batch& batch : batches) {
      CD_TRY(run.check_cancelled());
      CD_TRY(run.sink->accept(0, std::move(batch)));
    }
  }
  record.add(chain, {"result", plan_.get(), rows}, start);
  run.profile->facts = record.facts(*plan_);
  run.profile->result_rows = rows;
  return {};
}

}  // namespace crossdock::execution
