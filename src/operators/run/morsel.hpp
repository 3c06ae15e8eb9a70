// Morsels: the runs of rows that the workers of a run take turns in.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "table/row_store.hpp"

namespace crossdock::operators {

// A run of rows of one batch.
struct Morsel {
  const Batch* batch = nullptr;
  int64_t begin = 0;
  int32_t rows = 0;
  RowRef first_ref = 0;  // of row `begin`
};

// All rows of the store in order. Morsels have `rows_max` rows or, where that gives every thread less
// than some four of them, fewer; always a multiple of `unit_rows`, but at the end of a batch.
struct MorselSizes {
  int32_t rows_max = 1 << 16;
  int32_t unit_rows = 1024;
};
std::vector<Morsel> cut_morsels(const RowStore& store, int threads, MorselSizes sizes = {});

// The rows of a table, numbered. `what` names the table in errors (kTooManyRows).
Result<std::shared_ptr<const RowStore>> store_rows(const Table& table, const char* what);

// The schema with a field nullable where its column may hold nulls, however it was declared: most
// columns are declared nullable and hold none, and some are declared without nulls and hold some.
Schema with_seen_nulls(const RowStore& store);

}  // namespace crossdock::operators
