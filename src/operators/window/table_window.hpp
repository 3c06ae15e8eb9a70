// Window functions over a table in memory: rows are sorted once by partition and order, and leave in that order with
// the columns that the functions add.
//
// After Leis et al., "Efficient Processing of Window Functions in Analytical SQL Queries" (VLDB 2015): all functions of
// one order share its sort, and workers share rows, not partitions, so that one large partition keeps them all busy. A
// worker that begins inside a frame takes totals of blocks for what lies before; from there on, frames slide.
#pragma once

#include <memory>

#include "operators/run/operator.hpp"
#include "operators/window/window_spec.hpp"

namespace crossdock::operators {

class TableWindow final : public Operator {
 public:
  // Errors: those of window_schema; kTooManyRows.
  static Result<std::unique_ptr<TableWindow>> create(WindowSpec spec,
                                                     TablePtr table,
                                                     RunEnvironment environment);

  int worker_count() const override;
  OperatorPlan describe() const override;
  // Errors while running: those of the sort; kValueOutOfRange for a sum beyond its type.

 private:
  const char* what() const override { return "the window"; }
  Status run_phases(OperatorRun& run) const override;
  Result<std::shared_ptr<const RowStore>> sorted(OperatorRun& run) const;

  WindowSpec spec_;
  TablePtr table_;
};

}  // namespace crossdock::operators
