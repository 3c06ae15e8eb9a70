// Cuts of rows over thread ranks, and the order that the standard library's stable sort finds over plain keys of all
// ranks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/bulk/order_cut.hpp"
#include "data/ranks/thread_communicator.hpp"
#include "table/order_columns.hpp"

namespace crossdock::arrow_test {

struct Cutting {
  std::vector<OrderedColumn> columns;  // of all ranks' rows, one rank after the other
  std::vector<bulk::CutKey> keys;
  std::vector<int64_t> ends;  // by rank: where its rows end
  bulk::CutOptions options{};
  int threads = 1;
};

struct CutRows {
  std::vector<int> destinations;  // by row, of all ranks
  std::vector<std::vector<int64_t>> rows_of;
  std::vector<ErrorCode> errors;  // by rank; kInternal if it had none
  int64_t samples = 0;
};

// What one rank calls.
using Cut = std::function<Result<bulk::OrderCut>(const bulk::RankRun& run, const RowStore& store)>;

CutRows cut_by(const Cutting& cutting, const Cut& call);
// cut_by_order
CutRows cut(const Cutting& cutting);

// The cut follows the order of keys, rank and row, no rank has more rows than the options allow, and all ranks say so.
void expect_right(const Cutting& cutting, const CutRows& done);

std::vector<int64_t> even_ends(int64_t rows, int ranks);
OrderedColumn numbers(const std::vector<int64_t>& values);
OrderedColumn words(const std::vector<std::string>& values);

}  // namespace crossdock::arrow_test
