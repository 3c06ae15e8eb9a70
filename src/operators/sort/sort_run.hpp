// What one run of a sort shares among its phases and workers, and the strategies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/machine.hpp"
#include "operators/run/operator_run.hpp"
#include "operators/run/ordered_emitter.hpp"
#include "operators/sort/sort_layout.hpp"

namespace crossdock::operators {

constexpr int kHeldPerWorker = 64;  // batches that wait for their turn

// Rows [begin, end) of some.
struct WantedRows {
  int64_t begin = 0;
  int64_t end = 0;

  bool is_empty() const { return begin >= end; }
};

// Owned by TableSort::run_phases; strategies get references.
struct SortRun {
  OperatorRun* run = nullptr;
  const SortSpec* spec = nullptr;
  std::shared_ptr<const RowStore> store;
  const std::vector<Morsel>* morsels = nullptr;
  std::shared_ptr<Memory> memory;
  model::Machine machine;
  OrderKeyPlan keys;
  SchemaPtr schema;
  int64_t first_row = 0;  // of the rows in order, the first one wanted
  int64_t end_row = 0;    // and the end
  int64_t batch_rows = 0;
  uint64_t seed = 0;

  // Of `rows` rows in order, the first of which is `first`, those that the result has.
  WantedRows wanted_of(int64_t first, int64_t rows) const {
    return {std::max(first_row, first) - first, std::min(end_row, first + rows) - first};
  }
  int workers() const { return run->team->worker_count(); }
  void note(const char* name, decltype(Fact::value) value) const;
};

// How the rows lie already, as far as a look at some places tells (kAuto: in neither order).
SortStrategy sampled_order(const OrderKeyPlan& keys,
                           const std::vector<Morsel>& morsels,
                           bool may_reverse);

// Whether all rows are in order, or, for kReversed, in the opposite one: no two rows with equal keys
// then, if the sort is to be stable. Stops at the first row that is not.
Result<bool> check_order(SortRun& sort, SortStrategy order);

// Each emits the rows wanted, in order.
Status run_in_order(SortRun& sort, SortStrategy order);
Status run_msd(SortRun& sort);
Status run_lsd(SortRun& sort);
Status run_topk(SortRun& sort);

}  // namespace crossdock::operators
