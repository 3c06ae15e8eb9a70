// The last pipeline of a plan ends in the sink of the run.
#include "execution/query.hpp"

#include "execution/collect_sink.hpp"
#include "execution/counted_rows.hpp"
#include "execution/estimates.hpp"
#include "execution/lowering.hpp"

namespace crossdock::execution {
operators::OperatorPlan Query::describe() const {
  operators::OperatorPlan described;
  described.name = "query";
  described.facts = {{"threads", int64_t{environment_.threads}}};
  for (operators::Fact& fact : estimated_facts(*plan_, environment_, options_.rules)) {
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
    CD_ASSIGN(rows, count_rows(run, chain, record.meters()));
  } else {
    CD_ASSIGN(rows, run_into(*run.sink, run, chain, environment_.memory, record.meters()));
  }
  record.add(chain, {"result", plan_.get(), rows}, start);
  run.profile->facts = record.facts(*plan_);
  run.profile->result_rows = rows;
  return {};
}

}  // namespace crossdock::execution
