// What statistics of a column chunk say of its values, and whether a condition can be true for any of them.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "expressions/expression.hpp"
#include "operators/hash_join/key_plan.hpp"
#include "scan/column_form.hpp"
#include "scan/page_index.hpp"
#include "scan/parquet_format.hpp"
#include "scan/parquet_table.hpp"

namespace crossdock::execution {

// False only where the condition, on the one column that the chunk holds, is true for no row of it.
bool can_match(const expressions::Expression& condition,
               const scan::ColumnForm& form,
               const scan::ColumnChunk& chunk);

// The same of a Bloom filter of the chunk, which knows of single values alone.
bool can_be_held(const expressions::Expression& condition,
                 const scan::ColumnForm& form,
                 const scan::BloomFilter& filter);

// The range of the values of a chunk of signed integers or dates; nothing where it is not known, or no range.
std::optional<operators::KeyRange> value_range(const scan::ColumnForm& form,
                                               const scan::ColumnChunk& chunk);

// A value of whole numbers and instants in the type of the column, or of strings, which lie in the footer.
using BoundValue = std::variant<Int128, std::string_view>;

// The least and the largest value of a chunk; nothing where statistics do not hold both as they are.
std::optional<std::pair<BoundValue, BoundValue>> exact_bounds(const scan::ColumnForm& form,
                                                              const scan::ColumnChunk& chunk);

// The range of the numbers, days or instants in a column of files, in the unit of its type (decimals: without a scale),
// as their row groups state it; nothing where one with values does not.
std::optional<std::pair<double, double>> stated_range(const scan::ParquetTable& table, int column);

}  // namespace crossdock::execution
