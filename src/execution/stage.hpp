// Stages: what stands between the source and the sink of a pipeline. A stage keeps nothing but rows that are to fill a
// block.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "execution/block.hpp"
#include "expressions/program.hpp"
#include "memory/budget.hpp"
#include "operators/run/operator_run.hpp"

namespace crossdock::execution {

class Stage : public BlockSink {
 public:
  // Before the first block.
  void set_next(BlockSink* next) { next_ = next; }
  // Passes on what can only be known once the last block has come. After the last flush; from one thread.
  virtual Status finish(operators::OperatorRun& /*run*/) { return {}; }
  // False for a stage whose result depends on having seen each row once: then no sample may go through it.
  virtual bool can_be_sampled() const { return true; }
  virtual std::string describe() const = 0;

 protected:
  BlockSink& next() { return *next_; }

 private:
  BlockSink* next_ = nullptr;
};

// The columns that expressions read, ascending.
std::vector<int> columns_of(const std::vector<expressions::ExpressionPtr>& expressions);

// Passes on the rows for which all conditions are true. Errors while it runs: kExpressionFailed,
// kOutOfMemoryBudget.
Result<std::unique_ptr<Stage>> make_filter_stage(
    const BlockSchema& input,
    const std::vector<expressions::ExpressionPtr>& conditions,
    int workers,
    std::shared_ptr<Memory> memory);

// Appends computed columns to RowBlock::computed, one per expression.
Result<std::unique_ptr<Stage>> make_compute_stage(
    const BlockSchema& input,
    const std::vector<expressions::ExpressionPtr>& outputs,
    int workers,
    std::shared_ptr<Memory> memory);

}  // namespace crossdock::execution
