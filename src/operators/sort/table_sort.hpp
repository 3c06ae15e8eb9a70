// The sort of a table in memory: plan once, run as often as wanted.
//
// Keys become normalised words (table/order_key.hpp). Rows are split into ranges of words that fit a
// core's cache, and sorted there; what a word leaves open is read on only where rows are equal. Rows
// that are in order already are passed through, a limit keeps the sort from touching what it cuts off,
// and the LSD radix sort is there for comparison.
//
// The order: NaN is greater than every number, -0.0 equals 0.0, text and binary compare byte by byte,
// false comes before true, decimals, dates and instants compare by value, dictionaries by the value
// they stand for; nulls come first or last as asked, whatever the direction.
#pragma once

#include <memory>
#include <vector>

#include "model/sort_cost.hpp"
#include "operators/run/operator.hpp"
#include "operators/sort/sort_run.hpp"

namespace crossdock::operators {

class TableSort final : public Operator {
 public:
  // Plans. The table's contents have been checked on import. Errors: everything that is wrong with the
  // request, before any row is sorted.
  static Result<std::unique_ptr<TableSort>> create(SortSpec spec,
                                                   TablePtr table,
                                                   RunEnvironment environment);

  int worker_count() const override;
  OperatorPlan describe() const override;
  // Errors while running: CD-201; CD-303 for a result batch with too much text; CD-401; CD-105 if
  // the rows turn out not to be in the order that strategy kPresorted was asked for.

 private:
  const char* what() const override { return "the sort"; }
  int team_size(const RowSink& sink) const override;
  Status run_phases(OperatorRun& run) const override;

  struct Considered {
    SortStrategy strategy;
    model::SortCost cost;
  };

  TableSort() = default;
  void look_at_input();
  void choose();
  model::SortShape shape() const;
  int64_t first_row() const;
  int64_t end_row() const;
  int64_t batch_rows(const RowSink& sink) const;
  bool knows_count(const RowSink& sink) const;
  bool is_one_word() const;
  Status settle_keys(SortRun& sort, bool scan) const;
  Status run_strategy(SortRun& sort) const;
  Result<bool> run_if_in_order(SortRun& sort) const;

  SortSpec spec_;
  std::shared_ptr<const RowStore> store_;
  std::vector<Morsel> morsels_;
  OrderKeyPlan keys_;                               // settled by a sample, for explain
  SortStrategy input_order_ = SortStrategy::kAuto;  // as some places look
  SortStrategy chosen_ = SortStrategy::kMsd;
  std::string reason_;
  std::vector<Considered> considered_;
};

}  // namespace crossdock::operators
