// Conditions that hold for a column of a source because of what stands behind it. They are never computed for a row:
// statistics, page indexes and Bloom filters are held against them.
#pragma once

#include <cstdint>
#include <vector>

#include "execution/column_filter.hpp"
#include "execution/stage.hpp"
#include "operators/hash_join/key_plan.hpp"

namespace crossdock::execution {

// The conditions, and what the stages behind a source know by now of the rows that they will pass on.
std::vector<ColumnConditions> with_known_bounds(std::vector<ColumnConditions> conditions,
                                                const std::vector<const Stage*>& stages);

// The source's column, of integers, decimals, dates or times, as an expression.
expressions::ExpressionPtr source_column(const BlockSchema& input, int column);
expressions::ExpressionPtr compared_with(expressions::ExpressionOp op,
                                         expressions::ExpressionPtr column,
                                         Int128 value);
expressions::ExpressionPtr one_of(expressions::ExpressionPtr column,
                                  const std::vector<int64_t>& values);
// Values within the range, which is not empty.
std::vector<expressions::ExpressionPtr> within_range(const expressions::ExpressionPtr& column,
                                                     const operators::KeyRange& range);
expressions::ExpressionPtr null_or(const expressions::ExpressionPtr& column,
                                   expressions::ExpressionPtr condition);

}  // namespace crossdock::execution
