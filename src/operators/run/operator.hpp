// What all operators have in common: planned once from their inputs, run as often as wanted, described
// by facts and predicted phases.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "model/phase_cost.hpp"
#include "operators/run/operator_run.hpp"

namespace crossdock::operators {

struct RunEnvironment {
  std::shared_ptr<Memory> memory;
  int threads = 1;
  model::Machine machine;
  uint64_t seed = 0;  // of hashes; results do not depend on it
};

// For `explain`. Pure description: nothing is decided by it.
struct OperatorPlan {
  std::string name;  // "hash_join", "group_by", ...
  Facts facts;       // strategy, strategy_reason, threads and what else a reader wants
  std::vector<model::PhaseCost> phases;  // predicted
  std::vector<Facts> considered;         // the alternatives, each with predicted_s
};

class Operator {
 public:
  virtual ~Operator() = default;

  const SchemaPtr& schema() const { return schema_; }  // of the result
  virtual int worker_count() const = 0;
  virtual OperatorPlan describe() const = 0;
  // Of the result; nothing where a look at the input does not tell.
  virtual std::optional<int64_t> rows_expected() const { return std::nullopt; }

  // Runs to the end and fills `profile`. One run at a time per operator; `sink` is called from
  // worker_count() workers, of which the calling thread is one.
  Status run(RowSink& sink,
             const CancelFlag& cancel,
             RunProgress& progress,
             RunProfile& profile) const;

 protected:
  RunEnvironment environment_;
  SchemaPtr schema_;

 private:
  virtual const char* what() const = 0;  // in errors: "the join"
  // Workers that the phases of a run into `sink` keep busy, at most worker_count().
  virtual int team_size(const RowSink& /*sink*/) const { return worker_count(); }
  // The run itself. Everything in `run` is set; what takes time is a phase of it.
  virtual Status run_phases(OperatorRun& run) const = 0;
};

// Starts the threads of a run. Error kOutOfMemoryBudget, with advice, when the system refuses them.
Status start_team(int worker_count, std::optional<Team>& team);

// Workers that pay for `rows` rows: one thread per 2^16 of them, at most `threads`.
int workers_for(int64_t rows, int threads);

}  // namespace crossdock::operators
