// The sort of rows that lie in several ranks: where each goes is agreed first (operators/sort/order_exchange.hpp), then
// rows move once, and every rank sorts what has come. The result of rank 0 comes before that of rank 1.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/run/operator.hpp"
#include "operators/sort/order_exchange.hpp"
#include "operators/sort/sort_spec.hpp"
#include "table/column.hpp"

namespace crossdock::operators {

struct RankSorted {
  TablePtr rows;                 // of this rank, in order
  std::vector<int64_t> rows_of;  // by rank: what came to it, before limit and offset
};

// All ranks call it alike, each with its rows. Limit and offset are of all rows; so few rows that one rank may hold
// them come to rank 0, as each rank's own first ones. Equal keys of a stable sort stay in the order of ranks and rows.
// Columns of dictionaries become their values. Errors in all ranks: those of TableSort::create, of the cuts and of
// bulk_exchange; CD-105 for row_index, since rows have no position among those of all ranks. While a rank sorts what
// came, its errors are its own.
Result<RankSorted> sort_over_ranks(const bulk::RankRun& run,
                                   const SortSpec& spec,
                                   const TablePtr& table,
                                   const RunEnvironment& environment,
                                   RankCutBy by = RankCutBy::kSplitters);

}  // namespace crossdock::operators
