// Operators that work on whole tables: where they run instead of a pipeline, and how they are planned.
#pragma once

#include <memory>

#include "operators/run/operator.hpp"
#include "plan/node.hpp"

namespace crossdock::execution {

// The operator whose rows, or whose aggregates over all rows, are the result of a plan, as they are: what runs need not
// pass through blocks. nullptr: something is done with the rows.
const plan::Node* last_operator(const plan::Node& root);

// Whether the two types have the same bytes for equal integers.
bool is_plain_integer(const DataType& left, const DataType& right);
// Whether pipelines cannot make the rows of a join, or it was asked for in a way that only the operator knows.
bool needs_tables(const plan::Node& join);
// Whether two tables are joined by an operator, the smaller one being of `rows` rows.
bool joins_tables(const plan::Node& join, int64_t rows, bool is_last);

// Whether all that is asked for is how many rows there are.
bool counts_rows(const operators::GroupSpec& spec);

using PlannedOperator = Result<std::unique_ptr<operators::Operator>>;
PlannedOperator plan_table_join(const plan::Join& join,
                                TablePtr left,
                                TablePtr right,
                                const operators::RunEnvironment& environment);
// A group-by over filters and projections of a table, which are evaluated inside it, block by block. nullptr where
// something else lies below, or it needs computed columns as they are.
PlannedOperator plan_table_group(const plan::Node& group,
                                 const operators::RunEnvironment& environment);
// The operator that will run a node whose inputs are tables in memory, for explain. nullptr: a pipeline will, or
// something else runs before.
PlannedOperator plan_over_tables(const plan::Node& node,
                                 bool is_last,
                                 const operators::RunEnvironment& environment);

}  // namespace crossdock::execution
