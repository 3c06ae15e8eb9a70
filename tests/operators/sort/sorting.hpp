// Sorts tables for tests, and says in which order plain keys would have them.
#pragma once

#include <vector>

#include "operators/sort/table_sort.hpp"
#include "table/order_columns.hpp"

namespace crossdock::arrow_test {

struct SortCase {
  std::vector<OrderedColumn> columns;  // all are output; the first `keys.size()` are keys
  std::vector<operators::SortKey> keys;
  std::vector<int64_t> cuts;  // where batches end, the last one aside
};

TablePtr table_of(const SortCase& sorted);

// Rows of the input in order; those with equal keys as they stand.
std::vector<int64_t> expected_order(const SortCase& sorted);

// A spec of all columns, with the row's position as "row".
operators::SortSpec spec_of(const SortCase& sorted);

struct Sorted {
  std::vector<Batch> batches;
  std::vector<int64_t> rows;  // of the row_index column
  operators::RunProfile profile;
};

// Runs with that many threads and a budget of 1 GiB; afterwards all memory but the result's is back.
Result<Sorted> run_sort(const operators::SortSpec& spec, const TablePtr& table, int threads);

// The rows and the values in them are those of the input at `rows`.
void expect_values(const TablePtr& table, const operators::SortSpec& spec, const Sorted& sorted);

std::string fact_text(const operators::Facts& facts, const std::string& name);
int64_t fact_number(const operators::Facts& facts, const std::string& name);

}  // namespace crossdock::arrow_test
