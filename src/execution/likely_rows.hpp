// Where in files the first rows of an order are likely to be, by the statistics of row groups and pages.
#pragma once

#include <functional>
#include <vector>

#include "execution/file_units.hpp"
#include "operators/sort/sort_spec.hpp"
#include "scan/parquet_table.hpp"

namespace crossdock::execution {

// Pages, or units without an index of them, of which the values by this key come first: a few of those units that
// `may_match`. None where statistics do not say that a good part of all rows comes behind those of the first of
// them, as of rows without an order, and of files that lie elsewhere, of which a look is a request.
std::vector<Unit> likely_first(const scan::ParquetTable& table,
                               const std::vector<Unit>& units,
                               const operators::SortKey& key,
                               const std::function<bool(const Unit&)>& may_match);

}  // namespace crossdock::execution
